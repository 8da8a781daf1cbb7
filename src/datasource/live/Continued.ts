import { type DataFrame } from '@grafana/data';

/** An answer's frame that a stream goes on with. */
export interface Continued {
  /** Takes what Grafana's buffer holds after a packet. Returns how much of it is new: 0 for nothing. */
  overlay(buffer: DataFrame): number;
  /** Whether the stream is about other things than the answer, so that the answer must be asked for again. */
  differsFrom(buffer: DataFrame): boolean;
  /** The frame as it stands now. It shares nothing that later packets change. */
  toFrame(): DataFrame;
}
