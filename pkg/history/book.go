package history

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Together lets all that is asked with the context share what the answers say of the same devices: their labels are kept once,
// and what they mean is found out once, however many metrics are asked for. The memory lasts as long as the context is used.
func Together(ctx context.Context) context.Context {
	return context.WithValue(ctx, bookKey{}, &book{files: map[*endpoint]*cardfile{}})
}

type bookKey struct{}

// book is the label sets that several answers have in common, apart for each server.
type book struct {
	mu    sync.Mutex
	files map[*endpoint]*cardfile
}

// cardfile is those of a server, nil where nothing is shared.
func (e *endpoint) cardfile(ctx context.Context) *cardfile {
	b, ok := ctx.Value(bookKey{}).(*book)
	if !ok {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.files[e] == nil {
		b.files[e] = &cardfile{cards: map[string]*card{}}
	}
	return b.files[e]
}

// mostCards is how many label sets of one server are shared; what comes after them has labels of its own.
const mostCards = 1 << 20

// cardfile is the label sets of one server's answers.
type cardfile struct {
	mu    sync.Mutex
	cards map[string]*card // by their text
	count atomic.Int64     // of cards
	first atomic.Pointer[card]
}

// card is a label set without the label that tells the answers of different metrics apart. It is never changed but for what
// is remembered of it.
type card struct {
	text   string // as it stands in answers, without that label
	labels []label
	// cuts are where in the text a series' name belongs, and its tag.
	cuts [2]int

	after atomic.Pointer[card]   // that came next the last time: answers mostly have one order
	means atomic.Pointer[bearer] // what the labels say, once somebody wanted to know
}

// varying are the labels that tell the answers of different metrics apart, in the order of cuts.
func varying() [2]string { return [2]string{"__name__", tag} }

// bearer is what a label set says of the device that has it.
type bearer struct {
	id    catalog.Identified // with the cluster
	named bool               // it names a device
	key   deviceKey
	board deviceKey
	from  target

	noted atomic.Pointer[standing]
}

// standing is that a device in a roster was known to be as a label set says, for what a dialect of some rank says.
type standing struct {
	of   *resident
	rank int
}

// bearer reads a label set, that of a card but once.
func (h *History) bearer(e *endpoint, labels labelSet) *bearer {
	if labels.shared != nil {
		if known := labels.shared.means.Load(); known != nil {
			return known
		}
	}
	b := &bearer{from: h.targetOf(labels, "")}
	if b.id, b.named = h.catalog.Resolve(labels); b.named {
		b.id.Device.Cluster = e.Cluster
		b.key = keyOf(b.id.Device)
		b.board = b.key.parent()
	}
	if labels.shared != nil {
		labels.shared.means.Store(b)
	}
	return b
}

// cardReader finds the label sets of one answer in a file.
type cardReader struct {
	file  *cardfile
	next  *card   // likely to come
	which int     // the cut where this answer's series have their own label
	text  []byte  // of that label, as it stands in the body
	own   []label // that label; nil before the first series
	room  []byte
	cards []card // for those to come
}

// likely reads a label set that was likely to come. It returns the place after it, 0 when it is another one.
func (r *cardReader) likely(buf []byte, pos int) (*card, int) {
	c := r.next
	if c == nil || r.own == nil {
		return nil, 0
	}
	cut := c.cuts[r.which]
	rest := c.text[cut:]
	var ok bool
	if pos, ok = placeAfter(buf, pos, c.text[:cut]); !ok {
		return nil, 0
	}
	if rest == "}" {
		if pos, ok = placeAfter(buf, pos, ","); !ok {
			return nil, 0
		}
	}
	if !bytes.HasPrefix(buf[pos:], r.text) {
		return nil, 0
	}
	pos += len(r.text)
	if rest != "}" {
		if pos, ok = placeAfter(buf, pos, ","); !ok {
			return nil, 0
		}
	}
	if pos, ok = placeAfter(buf, pos, rest); !ok {
		return nil, 0
	}
	r.next = c.after.Load()
	return c, pos
}

// take finds the card of a label set that was read the careful way from a text, or makes one. It is nil when the set cannot be
// shared: it has none or several labels of its own, or is not written as Prometheus writes.
func (r *cardReader) take(before *card, text []byte, labels []label) *card {
	names := varying()
	at := -1
	for i, l := range labels {
		if which := slices.Index(names[:], l.Name); which >= 0 {
			if at >= 0 {
				return nil
			}
			at, r.which = i, which
		}
	}
	if at < 0 || len(labels) < 2 {
		return nil
	}
	room, own := append(r.room[:0], '{'), [2]int{}
	for i, l := range labels {
		if i > 0 {
			room = append(room, ',')
		}
		start := len(room)
		room = append(append(append(append(append(room, '"'), l.Name...), `":"`...), l.Value...), '"')
		if i == at {
			own = [2]int{start, len(room)}
		}
	}
	room = append(room, '}')
	r.room = room
	if !bytes.Equal(room, text) {
		return nil
	}
	if r.own == nil || r.own[0] != labels[at] {
		r.own = []label{labels[at]}
		r.text = append([]byte(nil), room[own[0]:own[1]]...)
	}
	// The label goes with one comma.
	if at == len(labels)-1 {
		own[0]--
	} else {
		own[1]++
	}
	room = append(room[:own[0]], room[own[1]:]...)
	c := r.file.card(r, room, at, labels)
	if c == nil {
		return nil
	}
	if before != nil {
		before.after.Store(c)
	} else {
		r.file.first.Store(c)
	}
	r.next = c.after.Load()
	return c
}

// card is the one with a text, made of the labels but one where there is none yet; nil when there are too many.
func (s *cardfile) card(r *cardReader, text []byte, own int, labels []label) *card {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.cards[string(text)]; ok {
		return known
	}
	if len(s.cards) >= mostCards {
		return nil
	}
	if len(r.cards) == 0 {
		r.cards = make([]card, 64)
	}
	c := &r.cards[0]
	r.cards = r.cards[1:]
	c.text = string(text)
	c.labels = make([]label, 0, len(labels)-1)
	pos := 1
	names := varying()
	c.cuts = [2]int{len(c.text) - 1, len(c.text) - 1}
	found := [2]bool{}
	for i, l := range labels {
		if i == own {
			c.cuts[r.which], found[r.which] = pos, true
			continue
		}
		for which, name := range names {
			if !found[which] && which != r.which && name < l.Name {
				c.cuts[which], found[which] = pos, true
			}
		}
		value := pos + len(`"":"`) + len(l.Name)
		c.labels = append(c.labels, label{l.Name, c.text[value : value+len(l.Value)]})
		pos = value + len(l.Value) + len(`",`)
	}
	for which := range c.cuts {
		c.cuts[which] = min(c.cuts[which], len(c.text)-1)
	}
	s.cards[c.text] = c
	s.count.Store(int64(len(s.cards)))
	return c
}

// all are the labels, sorted by name where some are shared.
func (l labelSet) all() []label {
	if l.shared == nil {
		return l.own
	}
	all := append(slices.Clone(l.shared.labels), l.own...)
	slices.SortStableFunc(all, compareNames)
	return all
}

// textWithout is the labels but one as one text, whatever order they came in.
func (l labelSet) textWithout(name string) string {
	if l.shared != nil && len(l.own) == 1 && l.own[0].Name == name && slices.IsSortedFunc(l.shared.labels, compareNames) {
		return l.shared.text
	}
	kept := slices.DeleteFunc(slices.Clone(l.all()), func(one label) bool { return one.Name == name })
	slices.SortFunc(kept, compareNames)
	text := []byte{'{'}
	for i, one := range kept {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendQuoted(append(appendQuoted(text, one.Name), ':'), one.Value)
	}
	return string(append(text, '}'))
}

// appendQuoted is a text as it stands on cards, which have none with quotes in it.
func appendQuoted(onto []byte, text string) []byte {
	if strings.ContainsAny(text, "\"\\") {
		return strconv.AppendQuote(onto, text)
	}
	return append(append(append(onto, '"'), text...), '"')
}

// len is how many labels there are.
func (l labelSet) len() int {
	if l.shared == nil {
		return len(l.own)
	}
	return len(l.shared.labels) + len(l.own)
}

func compareNames(a, b label) int { return strings.Compare(a.Name, b.Name) }
