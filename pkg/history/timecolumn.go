package history

import "slices"

// timeColumn collects the times of one series. As long as they are those of the decoder's grid they are not stored
// again.
type timeColumn struct {
	decoder *decoder
	from    int // where the times start in the grid, -1 before the first
	count   int
	own     []int64 // once the times differ from the grid's
	texts   []timeText
}

// next is where the text of the time stands that comes next if the series goes on as the grid does.
func (c *timeColumn) next() timeText {
	at := c.from + c.count
	if c.own != nil || at < 0 && len(c.decoder.texts) == 0 || at >= len(c.decoder.texts) {
		return timeText{}
	}
	return c.decoder.texts[max(at, 0)]
}

// same adds the time that next told of.
func (c *timeColumn) same() {
	if c.from < 0 {
		c.from = 0
	}
	c.count++
}

// add adds any time.
func (c *timeColumn) add(t int64, text timeText) {
	grid := c.decoder.grid
	if c.from < 0 {
		c.from, _ = slices.BinarySearch(grid, t)
	}
	if c.own == nil {
		at := c.from + c.count
		if at < len(grid) && grid[at] == t {
			c.decoder.texts[at] = text // the one before may be gone by now
			c.count++
			return
		}
		size := max(c.decoder.points, c.count+16)
		c.own, c.texts = make([]int64, 0, size), make([]timeText, 0, size)
		c.own = append(c.own, grid[c.from:at]...)
		c.texts = append(c.texts, c.decoder.texts[c.from:at]...)
	}
	c.own, c.texts = append(c.own, t), append(c.texts, text)
	c.count++
}

// finish is the column; a column longer than the grid becomes the grid of the series to come.
func (c *timeColumn) finish() []int64 {
	if c.own == nil {
		return c.decoder.grid[c.from : c.from+c.count : c.from+c.count]
	}
	times := c.own[:len(c.own):len(c.own)]
	if len(times) >= len(c.decoder.grid) && rising(times) {
		c.decoder.grid, c.decoder.texts = times, c.texts
	}
	return times
}
