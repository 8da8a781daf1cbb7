package logrule

import "bytes"

// splitter cuts a stream of bytes into lines, which end with LF, CR LF or, as progress bars do it, CR alone. It keeps at
// most limit bytes of a line that is not complete.
type splitter struct {
	limit   int
	pending []byte
	skip    bool // the line that is being read is too long
	line    func([]byte)
	tooLong func()
}

// write takes the next bytes and calls line for each line that is complete. The slice is valid during the call only.
func (s *splitter) write(data []byte) {
	for len(data) > 0 {
		end := bytes.IndexAny(data, "\r\n")
		if end < 0 {
			s.keep(data)
			return
		}
		switch {
		case s.skip, len(s.pending)+end > s.limit:
			if !s.skip {
				s.tooLong()
			}
		case len(s.pending) > 0:
			s.pending = append(s.pending, data[:end]...)
			s.line(s.pending)
		case end > 0:
			s.line(data[:end])
		}
		s.reset()
		data = data[end+1:]
	}
}

func (s *splitter) keep(data []byte) {
	if s.skip {
		return
	}
	if len(s.pending)+len(data) > s.limit {
		s.tooLong()
		s.reset()
		s.skip = true
		return
	}
	s.pending = append(s.pending, data...)
}

// reset forgets the line that is being read.
func (s *splitter) reset() { s.pending, s.skip = s.pending[:0], false }
