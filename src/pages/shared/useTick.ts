import { rangeUtil } from '@grafana/data';
import { useCallback, useEffect, useState } from 'react';

/** Shorter would ask faster than samples come. */
const LEAST_MS = 5000;

/** A number that grows by each interval, and when it is told to. While the page is not seen it stands still. */
export function useTick(interval: string): [number, () => void] {
  const [tick, setTick] = useState(0);
  const next = useCallback(() => setTick((now) => now + 1), []);
  useEffect(() => {
    if (!rangeUtil.isValidTimeSpan(interval)) {
      return undefined;
    }
    const every = Math.max(LEAST_MS, rangeUtil.intervalToMs(interval));
    const timer = setInterval(() => document.visibilityState !== 'hidden' && next(), every);
    return () => clearInterval(timer);
  }, [interval, next]);
  return [tick, next];
}
