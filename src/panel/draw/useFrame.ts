import { useEffect, useRef } from 'react';

/** Draws once in the next animation frame, however often what is drawn changes before it. */
export function useFrame(draw: () => void): void {
  const latest = useRef(draw);
  const asked = useRef(0);
  useEffect(() => {
    latest.current = draw;
    if (asked.current === 0) {
      asked.current = requestAnimationFrame(() => {
        asked.current = 0;
        latest.current();
      });
    }
  }, [draw]);
  useEffect(
    () => () => {
      cancelAnimationFrame(asked.current);
      asked.current = 0;
    },
    []
  );
}
