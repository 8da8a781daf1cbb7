import {
  type DataFrame,
  dataFrameToJSON,
  type DataQueryResponse,
  LoadingState,
  StreamingDataFrame,
} from '@grafana/data';
import { type GrafanaLiveSrv, type LiveDataStreamOptions, StreamingFrameAction } from '@grafana/runtime';
import { BehaviorSubject, map, NEVER, Observable, Subject } from 'rxjs';

/** A channel as a test drives it. */
interface FakeChannel {
  buffer: StreamingDataFrame;
  /** Each packet, with what Grafana reports beside it. */
  packets: Subject<Partial<DataQueryResponse>>;
}

/** Grafana Live with its real buffer and without a network. Channels keep their buffer, as they do for five seconds. */
export class FakeLive implements GrafanaLiveSrv {
  readonly connected = new BehaviorSubject(true);
  readonly subscriptions: LiveDataStreamOptions[] = [];
  watchers = 0;
  /** Whether subscriptions are answered with the channel's columns. */
  answers = true;
  private readonly channels = new Map<string, FakeChannel>();

  getConnectionState() {
    return this.connected.asObservable();
  }

  getDataStream(options: LiveDataStreamOptions): Observable<DataQueryResponse> {
    return new Observable((subscriber) => {
      this.subscriptions.push(options);
      this.watchers++;
      const channel = this.channels.get(options.addr.path) ?? this.open(options);
      channel.buffer.resize(options.buffer ?? {});
      const response = () => responseOf(channel.buffer, options);
      subscriber.next(response());
      const forwarding = channel.packets.pipe(map((beside) => ({ ...response(), ...beside }))).subscribe(subscriber);
      const answer = setTimeout(() => this.answers && subscriber.next(response()), 20);
      return () => {
        this.watchers--;
        clearTimeout(answer);
        forwarding.unsubscribe();
      };
    });
  }

  /** Rows arrive on a channel. */
  push(path: string, frame: DataFrame) {
    const { buffer, packets } = this.at(path);
    const { schema, data } = dataFrameToJSON(frame);
    const schemaIsKnown = buffer.fields.length === frame.fields.length && !frame.meta?.notices;
    buffer.push(schemaIsKnown ? { data } : { schema, data });
    packets.next({});
  }

  /** Grafana reports an error on a channel, which stays subscribed. */
  fail(path: string, message: string) {
    // LiveDataStream reports errors in a member that the type calls deprecated.
    this.at(path).packets.next(Object.assign({ state: LoadingState.Error }, { error: { message } }));
  }

  /** A channel ends. */
  end(path: string) {
    this.at(path).packets.complete();
  }

  getStream = () => NEVER;
  getPresence = () => Promise.reject(new Error('no presence in tests'));
  publish = () => Promise.reject(new Error('nothing is published in tests'));

  private open(options: LiveDataStreamOptions): FakeChannel {
    // Whatever a subscriber wants of it, Grafana's buffer of a channel appends.
    const buffer = StreamingDataFrame.empty({ maxLength: 100 });
    buffer.resize(options.buffer ?? {});
    if (options.frame) {
      buffer.push(options.frame);
    }
    const channel = { buffer, packets: new Subject<Partial<DataQueryResponse>>() };
    this.channels.set(options.addr.path, channel);
    return channel;
  }

  private at(path: string): FakeChannel {
    const channel = this.channels.get(path);
    if (!channel) {
      throw new Error(`nobody subscribed to ${path}`);
    }
    return channel;
  }
}

/** Those that replace see the newest packet alone, cut to their own measure. */
function responseOf(buffer: StreamingDataFrame, options: LiveDataStreamOptions): DataQueryResponse {
  const last = options.buffer?.action === StreamingFrameAction.Replace;
  const frame = last
    ? StreamingDataFrame.deserialize(
        buffer.serialize(
          undefined,
          { maxLength: 1000, maxDelta: Infinity, ...options.buffer },
          { maxLength: buffer.packetInfo.length }
        )
      )
    : buffer;
  return { key: 'xstr/0', state: LoadingState.Streaming, data: [frame] };
}
