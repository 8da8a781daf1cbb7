import {
  type DataFrameJSON,
  type DataQueryResponse,
  type LiveChannelAddress,
  LiveChannelConnectionState,
  type LiveChannelEvent,
  LiveChannelEventType,
  type LiveChannelPresenceStatus,
  LoadingState,
  StreamingDataFrame,
} from '@grafana/data';
import {
  type GrafanaLiveSrv,
  type LiveDataStreamOptions,
  StreamingFrameAction,
  toDataQueryError,
} from '@grafana/runtime';
import { Centrifuge, type Subscription } from 'centrifuge';
import { BehaviorSubject, Observable, Subject } from 'rxjs';

/** How long a channel outlives its last panel, so that a refresh finds its buffer again. */
const lingerMs = 5000;

/**
 * Grafana Live in the browser: one WebSocket to the host, one subscription and one buffer per channel, whatever the number of
 * panels that show it.
 */
export class PreviewLiveSrv implements GrafanaLiveSrv {
  private readonly connected = new BehaviorSubject(false);
  private readonly channels = new Map<string, Channel>();
  private readonly centrifuge: Centrifuge;

  constructor(origin = window.location.origin) {
    this.centrifuge = new Centrifuge(`${origin.replace(/^http/, 'ws')}/api/live/ws`);
    this.centrifuge.on('connected', () => this.connected.next(true));
    this.centrifuge.on('disconnected', () => this.connected.next(false));
    this.centrifuge.on('connecting', () => this.connected.next(false));
  }

  getConnectionState(): Observable<boolean> {
    return this.connected.asObservable();
  }

  getStream<T>(address: LiveChannelAddress): Observable<LiveChannelEvent<T>> {
    return new Observable((observer) => {
      const channel = this.channel(address);
      const messages = channel.messages.subscribe((message) =>
        observer.next({ type: LiveChannelEventType.Message, message: message as T })
      );
      const states = channel.failure.subscribe((error) =>
        observer.next({
          type: LiveChannelEventType.Status,
          id: channel.id,
          timestamp: Date.now(),
          state: error ? LiveChannelConnectionState.Invalid : LiveChannelConnectionState.Connected,
          error,
        })
      );
      const release = channel.hold();
      return () => {
        messages.unsubscribe();
        states.unsubscribe();
        release();
      };
    });
  }

  /**
   * Streams a channel as one data frame. The given frame fills an empty buffer and is left alone otherwise: the buffer has the
   * same history and what came since.
   */
  getDataStream({ addr, frame, buffer, key }: LiveDataStreamOptions): Observable<DataQueryResponse> {
    return new Observable((observer) => {
      const channel = this.channel(addr);
      channel.offer(frame, buffer);
      const response = (error?: Error): DataQueryResponse => ({
        key: key ?? channel.id,
        state: error ? LoadingState.Error : LoadingState.Streaming,
        data: channel.frame.fields.length > 0 ? [channel.view(buffer)] : [],
        errors: error && [toDataQueryError(error)],
      });
      const updates = channel.updates.subscribe(() => observer.next(response()));
      // The current state comes at once, and with it the history, before the first row of the stream.
      const failures = channel.failure.subscribe((error) => {
        if (error || channel.frame.fields.length > 0) {
          observer.next(response(error));
        }
      });
      const release = channel.hold();
      return () => {
        updates.unsubscribe();
        failures.unsubscribe();
        release();
      };
    });
  }

  getPresence(): Promise<LiveChannelPresenceStatus> {
    return Promise.reject(new Error('The preview keeps no presence.'));
  }

  publish(): Promise<unknown> {
    return Promise.reject(new Error('The preview is read-only: nothing can be published.'));
  }

  private channel(address: LiveChannelAddress): Channel {
    const id = `1/${address.scope}/${address.stream}/${address.path}`;
    let channel = this.channels.get(id);
    if (!channel) {
      this.centrifuge.connect();
      channel = new Channel(id, this.centrifuge.newSubscription(id, { data: address.data }), (closed) => {
        this.channels.delete(id);
        this.centrifuge.removeSubscription(closed);
      });
      this.channels.set(id, channel);
    }
    return channel;
  }
}

/** A subscription that lives while someone holds it and a little longer, and the rows that came over it. */
class Channel {
  frame = StreamingDataFrame.empty();
  readonly messages = new Subject<unknown>();
  readonly updates = new Subject<void>();
  /** The reason why there is no subscription; undefined while there is one, or will be. */
  readonly failure = new BehaviorSubject<Error | undefined>(undefined);
  private holders = 0;
  private closing?: ReturnType<typeof setTimeout>;

  constructor(
    readonly id: string,
    private readonly subscription: Subscription,
    private readonly onClose: (subscription: Subscription) => void
  ) {
    subscription.on('subscribed', ({ data }) => this.receive(data));
    subscription.on('publication', ({ data }) => this.receive(data));
    subscription.on('error', ({ error }) => console.warn(`Live channel ${id}: ${error.message}`));
    subscription.on('unsubscribed', ({ code, reason }) => {
      if (code !== 0) {
        this.failure.next(new Error(`The live stream was refused: ${reason}`));
      }
    });
    subscription.subscribe();
  }

  offer(frame?: DataFrameJSON, options?: LiveDataStreamOptions['buffer']) {
    if (options) {
      this.frame.resize(options);
    }
    if (frame && this.frame.length === 0) {
      this.frame = StreamingDataFrame.fromDataFrameJSON(frame, this.frame.options);
    }
  }

  /** What a subscriber sees of the buffer, which has the rows of every packet: those that replace see the newest packet alone. */
  view(options?: LiveDataStreamOptions['buffer']): StreamingDataFrame {
    if (options?.action !== StreamingFrameAction.Replace) {
      return this.frame;
    }
    const newest = { maxLength: this.frame.packetInfo.length };
    return StreamingDataFrame.deserialize(
      this.frame.serialize(undefined, { maxLength: 1000, maxDelta: Infinity, ...options }, newest)
    );
  }

  hold(): () => void {
    this.holders++;
    clearTimeout(this.closing);
    return () => {
      if (--this.holders === 0) {
        this.closing = setTimeout(() => this.close(), lingerMs);
      }
    };
  }

  private receive(data: unknown) {
    if (!data) {
      return;
    }
    this.messages.next(data);
    try {
      this.frame.push(data as DataFrameJSON);
      this.updates.next();
    } catch (error) {
      this.failure.next(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private close() {
    this.subscription.unsubscribe();
    this.onClose(this.subscription);
  }
}
