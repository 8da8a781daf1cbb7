package settings

// Live is how many streams run at the same time. A channel that many watch is one stream.
type Live struct {
	MaxStreams     int // of the data source
	MaxUserStreams int // of those that one user was the first to watch
}

// Limits of what may be set for streams.
const (
	DefaultMaxStreams     = 2000
	DefaultMaxUserStreams = 256 // two full browser tabs

	mostStreams = 100_000
)

type storedLive struct {
	MaxStreams        *int `json:"maxStreams"`
	MaxStreamsPerUser *int `json:"maxStreamsPerUser"`
}

// read fills in the defaults. Who lowers the limit of all has lowered that of each user, too.
func (l storedLive) read() Live {
	total := orDefault(l.MaxStreams, DefaultMaxStreams)
	return Live{MaxStreams: total, MaxUserStreams: orDefault(l.MaxStreamsPerUser, max(1, min(DefaultMaxUserStreams, total)))}
}

func (v *validator) live(l Live) {
	if l.MaxStreams < 1 || l.MaxStreams > mostStreams {
		v.add("live.maxStreams", "%d is out of range: write how many live streams may run at the same time, between 1 and %d; agents.discovery off has none",
			l.MaxStreams, mostStreams)
		return
	}
	if l.MaxUserStreams < 1 || l.MaxUserStreams > l.MaxStreams {
		v.add("live.maxStreamsPerUser", "%d is out of range: write how many of the live streams may be of one user, between 1 and live.maxStreams, which is %d",
			l.MaxUserStreams, l.MaxStreams)
	}
}
