import { type BackendSrv, type BackendSrvRequest, type FetchError, type FetchResponse } from '@grafana/runtime';
import { filter, lastValueFrom, Observable, Subject, takeUntil, throwError } from 'rxjs';

/**
 * Grafana's HTTP service, reduced to what data sources use: JSON requests to the host, which a later request with the same
 * requestId cancels, and failures in the shape of FetchError.
 */
export class PreviewBackendSrv implements BackendSrv {
  private readonly cancelled = new Subject<string>();

  fetch<T>(options: BackendSrvRequest): Observable<FetchResponse<T>> {
    const { requestId } = options;
    if (requestId) {
      this.cancelled.next(requestId);
    }
    const answer = new Observable<FetchResponse<T>>((observer) => {
      const abort = new AbortController();
      send<T>(options, abort.signal).then(
        (response) => {
          observer.next(response);
          observer.complete();
        },
        (error) => !abort.signal.aborted && observer.error(error)
      );
      return () => abort.abort();
    });
    return answer.pipe(takeUntil(this.cancelled.pipe(filter((id) => id === requestId))));
  }

  async request<T>(options: BackendSrvRequest): Promise<T> {
    return (await lastValueFrom(this.fetch<T>(options))).data;
  }

  datasourceRequest<T>(options: BackendSrvRequest): Promise<FetchResponse<T>> {
    return lastValueFrom(this.fetch<T>(options));
  }

  get<T>(url: string, params?: Record<string, unknown>, requestId?: string): Promise<T> {
    return this.request<T>({ url, params, requestId, method: 'GET' });
  }

  post<T>(url: string, data?: unknown): Promise<T> {
    return this.request<T>({ url, data, method: 'POST' });
  }

  delete<T>(url: string, data?: unknown): Promise<T> {
    return this.request<T>({ url, data, method: 'DELETE' });
  }

  put<T>(url: string, data?: unknown): Promise<T> {
    return this.request<T>({ url, data, method: 'PUT' });
  }

  patch<T>(url: string, data?: unknown): Promise<T> {
    return this.request<T>({ url, data, method: 'PATCH' });
  }

  chunked(): Observable<FetchResponse<Uint8Array | undefined>> {
    return throwError(() => new Error('The preview answers in one piece: chunked requests are not served.'));
  }
}

async function send<T>(options: BackendSrvRequest, signal: AbortSignal): Promise<FetchResponse<T>> {
  const url = new URL(options.url, window.location.origin);
  for (const [name, value] of Object.entries(options.params ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) {
        url.searchParams.append(name, String(one));
      }
    }
  }
  const response = await fetch(url, {
    method: options.method ?? 'GET',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json', ...options.headers },
    body: options.data === undefined ? undefined : JSON.stringify(options.data),
    signal,
  });
  const text = await response.text();
  const data = parse(text);
  const { status, statusText, ok, headers, redirected, type } = response;
  if (!ok) {
    const error: FetchError = { status, statusText, data, config: options };
    throw error;
  }
  return { data, status, statusText, ok, headers, redirected, type, url: response.url, config: options };
}

function parse(text: string) {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return { message: text };
  }
}
