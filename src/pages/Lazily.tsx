import { ErrorBoundaryAlert, LoadingPlaceholder } from '@grafana/ui';
import React, { type ReactNode, Suspense } from 'react';

/** A place that is loaded when it is visited, and whose failure stays within it. */
export function Lazily({ children }: { children: ReactNode }) {
  return (
    <ErrorBoundaryAlert>
      <Suspense fallback={<LoadingPlaceholder text="Loading…" />}>{children}</Suspense>
    </ErrorBoundaryAlert>
  );
}
