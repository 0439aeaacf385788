package live

// lineSent is the position in a show that a connection was told last.
type lineSent struct {
	showNo   int32
	position int64
}

// offerLine tells the connection of a position, if that is news.
func (c *conn) offerLine(e *lineEntry, position int64) {
	c.mu.Lock()
	fits := true
	if i := c.lineOf(e); !c.catchingUp && c.end == nil && (i < 0 || newsworthy(c.lines[i].position, position)) {
		if i < 0 {
			i = len(c.lines)
			c.lines = append(c.lines, lineSent{showNo: e.Block.ShowNo})
		}
		c.lines[i].position = position
		fits = c.put(lineOf(e.ShowID, position))
	}
	c.mu.Unlock()
	c.wakeOrClose(fits)
}

// knowsLine says that the position is no news to the connection.
func (c *conn) knowsLine(e *lineEntry, position int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.lineOf(e)
	return c.catchingUp || i >= 0 && !newsworthy(c.lines[i].position, position)
}

// lineOf is the index of the entry's show in c.lines, or -1. mu is held.
func (c *conn) lineOf(e *lineEntry) int {
	for i := range c.lines {
		if c.lines[i].showNo == e.Block.ShowNo {
			return i
		}
	}
	return -1
}

// newsworthy: from 100 on, only a change by a hundredth or more is.
func newsworthy(told, position int64) bool {
	if told < 100 || position < 100 {
		return told != position
	}
	return max(told-position, position-told)*100 >= told
}
