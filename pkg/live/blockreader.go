package live

import (
	"encoding/binary"
	"math/bits"
)

// reader takes a block's bytes apart. After an error everything it reads is zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) ok() bool { return !r.bad }

func (r *reader) err() error {
	if r.bad {
		return errBlock
	}
	return nil
}

func (r *reader) fail() {
	r.bad = true
	r.rest = nil
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.fail()
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 { return unzigzag(r.uvarint()) }

// values reads a column's integers.
func (r *reader) values(form byte, into []int64) {
	value := r.varint()
	into[0] = value
	rest := into[1:]
	switch form & (1<<formBits - 1) {
	case formConstant:
		for i := range rest {
			rest[i] = value
		}
	case formPacked:
		r.packed(rest)
		for i, d := range rest {
			value += d
			rest[i] = value
		}
	case formPacked2:
		if len(rest) == 0 {
			r.fail()
			return
		}
		step := r.varint()
		r.packed(rest[1:])
		value += step
		rest[0] = value
		for i, d := range rest[1:] {
			step += d
			value += step
			rest[i+1] = value
		}
	case formVarint:
		mask := r.uint64()
		for i := range rest {
			if mask&(1<<i) != 0 {
				value += r.varint()
			}
			rest[i] = value
		}
	}
}

// packed reads differences.
func (r *reader) packed(into []int64) {
	mask, width := r.uint64(), int(r.byte())
	mask &= 1<<len(into) - 1
	if width < 1 || width > 64 {
		clear(into)
		if mask != 0 || width != 0 {
			r.fail()
		}
		return
	}
	raw := r.take((bits.OnesCount64(mask)*width + 7) / 8)
	if r.bad {
		clear(into)
		return
	}
	at := 0 // bit
	for i := range into {
		if mask&(1<<i) == 0 {
			into[i] = 0
			continue
		}
		into[i] = unzigzag(bitsAt(raw, at, width))
		at += width
	}
}

// bitsAt are width bits from one on, of which the last is in raw.
func bitsAt(raw []byte, at, width int) uint64 {
	first, shift := at/8, at%8
	var word uint64
	if first+8 <= len(raw) {
		word = binary.LittleEndian.Uint64(raw[first:])
	} else {
		for i, b := range raw[first:] {
			word |= uint64(b) << (8 * i)
		}
	}
	word >>= shift
	if shift+width > 64 {
		word |= uint64(raw[first+8]) << (64 - shift)
	}
	if width < 64 {
		word &= 1<<width - 1
	}
	return word
}
