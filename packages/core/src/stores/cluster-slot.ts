/** The number of slots of a Redis Cluster. */
const SLOTS = 16_384;
/** The polynomial of CRC-16/XMODEM. */
const POLYNOMIAL = 0x1021;

/**
 * Returns the slot of a key in a Redis Cluster. If the key has a part in braces, only that part counts.
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model
 */
export function clusterSlot(key: string): number {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ POLYNOMIAL) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}
