import {
  type DataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceApi,
  DataTopic,
  LoadingState,
  type PanelData,
  rangeUtil,
  toDataFrame,
} from '@grafana/data';
import { toDataQueryError } from '@grafana/runtime';
import { catchError, defer, from, map, merge, type Observable, of, scan, shareReplay, takeUntil, timer } from 'rxjs';

/** How long a panel shows nothing new before it is marked as loading. */
const loadingAfterMs = 200;

type Packets = Record<string, DataQueryResponse>;

/**
 * Runs the queries of one panel and folds all the data source's responses into the panel's data. A response replaces the
 * earlier one with the same key; a streaming one keeps the observable open.
 */
export function runRequest(
  datasource: DataSourceApi,
  request: DataQueryRequest,
  query?: DataSourceApi['query']
): Observable<PanelData> {
  // The queries of variables come with a function of their own, and need not look like those of panels.
  const targets = query ? request.targets : request.targets.filter((t) => datasource.filterQuery?.(t) ?? true);
  const empty: PanelData = { state: LoadingState.Done, series: [], request, timeRange: request.range };
  if (targets.length === 0) {
    return of(empty);
  }
  const ask = query ?? datasource.query.bind(datasource);
  const responses = defer(() => from(ask({ ...request, targets }))).pipe(
    scan((packets: Packets, response) => ({ ...packets, [keyOf(response)]: response }), {}),
    map((packets) => combine(packets, request)),
    catchError((error) =>
      of({ ...empty, state: LoadingState.Error, errors: [toDataQueryError(error)], error: toDataQueryError(error) })
    ),
    shareReplay({ bufferSize: 1, refCount: true })
  );
  const loading = timer(loadingAfterMs).pipe(
    map(() => ({ ...empty, state: LoadingState.Loading })),
    takeUntil(responses)
  );
  return merge(responses, loading);
}

function keyOf(response: DataQueryResponse): string {
  return response.key ?? response.data[0]?.refId ?? 'A';
}

function combine(packets: Packets, request: DataQueryRequest): PanelData {
  const responses = Object.values(packets);
  const frames: DataFrame[] = responses.flatMap(({ data }) => data).map((frame) => toDataFrame(frame));
  const errors = responses.flatMap(({ errors, error }) => errors ?? (error ? [error] : []));
  const streaming = responses.some(({ state }) => state === LoadingState.Streaming);
  const loading = responses.some(({ state }) => state === LoadingState.Loading);
  const isAnnotation = ({ meta }: DataFrame) => meta?.dataTopic === DataTopic.Annotations;
  return {
    state:
      errors.length > 0
        ? LoadingState.Error
        : streaming
          ? LoadingState.Streaming
          : loading
            ? LoadingState.Loading
            : LoadingState.Done,
    series: frames.filter((frame) => !isAnnotation(frame)),
    annotations: frames.filter(isAnnotation),
    errors: errors.length > 0 ? errors : undefined,
    error: errors[0],
    request,
    // A stream goes on while the time range stands still: a relative range moves with it.
    timeRange:
      streaming && request.rangeRaw?.to === 'now' ? rangeUtil.convertRawToRange(request.rangeRaw) : request.range,
  };
}
