import { type GrafanaLiveSrv } from '@grafana/runtime';
import { distinctUntilChanged, filter, map, type Observable, of, pairwise, shareReplay, switchMap, timer } from 'rxjs';

/** How long a connection may be down before panels say so: reloads and reconnects take less. */
const GRACE_MS = 5_000;

/** Grafana Live as the panels of one data source see it. */
export class LiveSide {
  /**
   * Whether the browser has had no WebSocket for longer than it may. It is watched once for all panels and across their
   * refreshes: a panel that refreshes more often than the grace would never find out by itself.
   */
  readonly lost: Observable<boolean>;
  /** Each time the WebSocket is back, however short the loss: what was sent meanwhile does not come again. */
  readonly reconnected: Observable<void>;

  constructor(readonly service: GrafanaLiveSrv) {
    const connection = service.getConnectionState().pipe(distinctUntilChanged());
    this.reconnected = connection.pipe(
      pairwise(),
      filter(([before, now]) => !before && now),
      map(() => undefined)
    );
    this.lost = connection.pipe(
      switchMap((connected) => (connected ? of(false) : timer(GRACE_MS).pipe(map(() => true)))),
      shareReplay(1)
    );
  }
}
