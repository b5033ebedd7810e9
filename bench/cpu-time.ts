/** The processor time of this process since it began, user and system time of all its threads. */
export function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
