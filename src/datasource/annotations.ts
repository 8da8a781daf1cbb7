import {
  type AnnotationQuery,
  type AnnotationSupport,
  type DataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
} from '@grafana/data';

import { SCHEMA_VERSION } from './query';
import { type GpuQuery } from './types';

/**
 * Annotations are what happened to the GPUs. The answer's columns have the names that Grafana makes marks and regions of, so
 * the standard editor and mapping serve, and any other type of query can be mapped by hand.
 */
export const annotationSupport: AnnotationSupport<GpuQuery> = {
  getDefaultQuery: () => ({ queryType: 'events', schemaVersion: SCHEMA_VERSION }),
  prepareQuery: ({ target }: AnnotationQuery<GpuQuery>) =>
    // With every answer all panels draw their marks anew: what changes every second comes with the dashboard's refresh.
    target && (target.queryType === 'events' ? target : { ...target, live: false }),
};

/** How far apart the answers of an annotation's stream are at least, in ms. */
export const MARKS_EVERY_MS = 1000;

/** Whether a request is for annotations. */
export function isForMarks({ scopedVars }: DataQueryRequest): boolean {
  return scopedVars?.__annotation !== undefined;
}

/** Whether who asks for annotations waits for the end: an editor that tries them does. A dashboard's scene goes on listening. */
export function waitsForMarks(request: DataQueryRequest): boolean {
  return isForMarks(request) && request.scopedVars.__sceneObject === undefined;
}

/**
 * An answer whose moments end when they begin. Grafana takes the columns of all marks from the first one: were the first a
 * moment without an end, regions after it would lack theirs, and drawing them fails.
 */
export function withEnds(answer: DataQueryResponse): DataQueryResponse {
  return { ...answer, data: answer.data.map(endMoments) };
}

function endMoments(frame: DataFrame): DataFrame {
  const begins = frame.fields?.find(({ name }) => name === 'time')?.values;
  if (!begins) {
    return frame;
  }
  return {
    ...frame,
    length: frame.length,
    fields: frame.fields.map((field) =>
      field.name === 'timeEnd' ? { ...field, values: field.values.map((end, row) => end ?? begins[row]) } : field
    ),
  };
}
