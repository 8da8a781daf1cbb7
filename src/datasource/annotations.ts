import { type AnnotationQuery, type AnnotationSupport } from '@grafana/data';

import { SCHEMA_VERSION } from './query';
import { type GpuQuery } from './types';

/**
 * Annotations are what happened to the GPUs. The answer's columns have the names that Grafana makes marks and regions of, so
 * the standard editor and mapping serve, and any other type of query can be mapped by hand.
 */
export const annotationSupport: AnnotationSupport<GpuQuery> = {
  getDefaultQuery: () => ({ queryType: 'events', schemaVersion: SCHEMA_VERSION }),
  prepareQuery: ({ target }: AnnotationQuery<GpuQuery>) =>
    // Marks are asked for anew with each refresh of the dashboard, and a stream would never end the question.
    target && { ...target, live: false },
};
