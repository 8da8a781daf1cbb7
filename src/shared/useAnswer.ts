import { useEffect, useState } from 'react';

import { messageOf } from './messageOf';

/** Something asked of the backend: what came, or why nothing did. */
export interface Answer<T> {
  loading: boolean;
  value?: T;
  error?: string;
}

/**
 * Asks when the component appears and whenever the question changes; answers to earlier questions are dropped. `ask`
 * must be stable for the same question: wrap it in useCallback.
 */
export function useAnswer<T>(ask: () => Promise<T>): Answer<T> {
  const [answered, setAnswered] = useState<{ to: () => Promise<T>; answer: Answer<T> }>();

  useEffect(() => {
    let current = true;
    const settle = (answer: Answer<T>) => current && setAnswered({ to: ask, answer });
    ask().then(
      (value) => settle({ loading: false, value }),
      (error: unknown) => settle({ loading: false, error: messageOf(error) })
    );
    return () => {
      current = false;
    };
  }, [ask]);

  return answered?.to === ask ? answered.answer : { loading: true, value: answered?.answer.value };
}
