import {
  type DataFrame,
  type DataFrameJSON,
  dataFrameToJSON,
  type DataQueryResponse,
  FieldType,
  LoadingState,
  StreamingDataFrame,
} from '@grafana/data';
import { type GrafanaLiveSrv, type LiveDataStreamOptions, StreamingFrameAction } from '@grafana/runtime';
import { BehaviorSubject, NEVER, Observable, Subject } from 'rxjs';

/** What a packet did to the buffer of its channel. */
interface Change {
  schemaChanged: boolean;
  /** Of the packet. */
  values: unknown[][];
  /** What Grafana reports beside it. */
  beside: Partial<DataQueryResponse>;
}

/** A channel as a test drives it. */
interface FakeChannel {
  buffer: StreamingDataFrame;
  changes: Subject<Change>;
  /** The columns that were sent last, as JSON. */
  sent: string;
  /** Whether a packet came. */
  begun: boolean;
}

/**
 * Grafana Live with its real buffer and without a network. Channels keep their buffer, as they do for five seconds. Panels have
 * buffers of their own: as in Grafana they get the whole one, with its meta, only where a packet changed names, types or the
 * number of columns, and else no more than the packet's values.
 */
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
      let own: StreamingDataFrame | undefined;
      const emit = ({ schemaChanged, values, beside }: Change) => {
        if (!own || schemaChanged || beside.state === LoadingState.Error) {
          own = wholeOf(channel.buffer, options);
        } else {
          own.pushNewValues(values);
        }
        subscriber.next({ key: 'xstr/0', state: LoadingState.Streaming, ...beside, data: [own] });
      };
      if (channel.begun) {
        emit({ schemaChanged: true, values: [], beside: {} });
      }
      const forwarding = channel.changes.subscribe({ next: emit, complete: () => subscriber.complete() });
      const answer = setTimeout(() => this.answers && emit({ schemaChanged: !own, values: [], beside: {} }), 20);
      return () => {
        this.watchers--;
        clearTimeout(answer);
        forwarding.unsubscribe();
      };
    });
  }

  /** A packet arrives on a channel, stamped as the backend does it, with its columns if they or the meta are others than before. */
  push(path: string, frame: DataFrame) {
    const channel = this.at(path);
    const { schema, data } = dataFrameToJSON(stamped(frame));
    const sent = JSON.stringify(schema?.fields.map(({ name, type }) => [name, type]));
    const packet: DataFrameJSON = sent === channel.sent ? { data } : { schema, data };
    channel.sent = sent;
    channel.begun = true;
    const { schemaChanged, length } = channel.buffer.push(packet);
    const values = channel.buffer.fields.map((field) => field.values.slice(Math.max(field.values.length - length, 0)));
    channel.changes.next({ schemaChanged, values, beside: {} });
  }

  /** Grafana reports an error on a channel, which stays subscribed. */
  fail(path: string, message: string) {
    // LiveDataStream reports errors in a member that the type calls deprecated.
    const beside = Object.assign({ state: LoadingState.Error }, { error: { message } });
    this.at(path).changes.next({ schemaChanged: false, values: [], beside });
  }

  /** A channel ends. */
  end(path: string) {
    this.at(path).changes.complete();
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
    const channel = { buffer, changes: new Subject<Change>(), sent: '', begun: options.frame !== undefined };
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

/** The frame with a last column whose name says what the meta is. */
function stamped(frame: DataFrame): DataFrame {
  const { notices = [], custom = {} } = frame.meta ?? {};
  const name = `told-${JSON.stringify([notices, custom])}`;
  const stamp = { name, type: FieldType.boolean, config: {}, values: Array<null>(frame.length).fill(null) };
  return { ...frame, meta: { ...frame.meta, notices, custom }, fields: [...frame.fields, stamp] };
}

/** Those that replace see the newest packet alone, cut to their own measure. */
function wholeOf(buffer: StreamingDataFrame, options: LiveDataStreamOptions): StreamingDataFrame {
  const last = options.buffer?.action === StreamingFrameAction.Replace;
  return StreamingDataFrame.deserialize(
    buffer.serialize(
      undefined,
      { maxLength: 1000, maxDelta: Infinity, action: StreamingFrameAction.Append, ...options.buffer },
      last ? { maxLength: buffer.packetInfo.length } : undefined
    )
  );
}
