package export

import (
	"strconv"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

func (e *Exporter) appendXIDs(dst []byte, l *layout, s *snapshot.Status) []byte {
	started := false
	for _, b := range s.Boards {
		for _, x := range b.XIDs {
			if !started {
				dst, started = append(dst, header(e.xids.Name, e.xids.Help, string(e.xids.Kind))...), true
			}
			dst = append(dst, e.xids.Name+"{"+l.board(b.Device)+label(labelXID, strconv.FormatUint(x.Code, 10))+"} "...)
			dst = append(strconv.AppendUint(dst, x.Count, 10), '\n')
		}
	}
	started = false
	for _, b := range s.Boards {
		for _, x := range b.XIDs {
			if x.Last.IsZero() {
				continue
			}
			if !started {
				dst, started = append(dst, seriesHeader(xidTimestamp, kindGauge)...), true
			}
			dst = append(dst, xidTimestamp+"{"+l.board(b.Device)+label(labelXID, strconv.FormatUint(x.Code, 10))+"} "...)
			dst = append(appendSeconds(dst, x.Last), '\n')
		}
	}
	return dst
}

func appendSeconds(dst []byte, at time.Time) []byte {
	return strconv.AppendFloat(dst, float64(at.UnixMilli())/1000, 'f', -1, 64)
}

func (e *Exporter) appendEvents(dst []byte, l *layout, s *snapshot.Status) []byte {
	started := false
	for _, b := range s.Boards {
		for _, c := range b.Events {
			if !started {
				dst, started = append(dst, seriesHeader(eventsTotal, kindCounter)...), true
			}
			dst = append(dst, eventsTotal+"{"+l.board(b.Device)+label(labelKind, c.Kind.String())+"} "...)
			dst = append(strconv.AppendUint(dst, c.Count, 10), '\n')
		}
	}
	return dst
}

// appendStatus writes one series for each state something can be in, 1 for the one it is in.
func (e *Exporter) appendStatus(dst []byte, l *layout, s *snapshot.Status) []byte {
	dst = append(dst, seriesHeader(sourceState, kindGauge)...)
	for _, state := range snapshot.SourceStates() {
		dst = appendState(dst, sourceState+"{"+nodeLabels(e.o.Node), state, s.Source.State)
	}
	if len(s.Boards) > 0 {
		dst = append(dst, seriesHeader(deviceState, kindGauge)...)
	}
	for _, b := range s.Boards {
		for _, state := range snapshot.BoardStates() {
			dst = appendState(dst, deviceState+"{"+l.board(b.Device), state, b.Condition.State)
		}
	}
	return dst
}

func appendState(dst []byte, prefix string, state, is snapshot.State) []byte {
	dst = append(dst, prefix+label(labelState, string(state))+"} "...)
	if state == is {
		return append(dst, "1\n"...)
	}
	return append(dst, "0\n"...)
}
