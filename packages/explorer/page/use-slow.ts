import { useEffect, useState } from 'preact/hooks';

/** The time after which a server counts as slow, in milliseconds. */
const SLOW_MS = 2000;

/** Tells if somebody has waited for long. */
export function useSlow(isWaiting: boolean): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (!isWaiting) return;
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [isWaiting]);
  return isWaiting && isSlow;
}
