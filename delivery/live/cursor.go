package live

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"fanline/notifier"
)

const (
	cursorVersion = 1
	// cursorMost is how many hashes a cursor carries: it must fit the request line of any proxy, 8 KiB.
	cursorMost = 600
	cursorHead = 1 + 8 + 4 + 8
	cursorTail = crc32.Size
	cursorSize = cursorHead + 8*cursorMost + cursorTail
)

const (
	// overlap is how far before its moment a cursor reaches back: more than moments are cut by, and than the time
	// between a transaction's start and its showing.
	overlap = time.Second
	// overlapHistory is the same for a cursor of an earlier timeline, whose clock was another machine's.
	overlapHistory = time.Minute
	// keptFor is how long items are kept.
	keptFor = 90 * 24 * time.Hour
	// skew is how far ahead of this instance's clock a moment of the database may seem to be.
	skew = time.Second
)

// fanCursor is where a fan goes on: everything before moment was sent, and of what became visible since moment less
// overlap, the items and updates with these hashes.
type fanCursor struct {
	moment Moment
	hashes []uint64
}

var errCursor = errors.New("not a cursor")

// encode writes version, moment, hashes and a checksum.
func (c *fanCursor) encode() string {
	b := make([]byte, 0, cursorHead+8*len(c.hashes)+cursorTail)
	b = append(b, cursorVersion)
	b = binary.BigEndian.AppendUint64(b, c.moment.Database)
	b = binary.BigEndian.AppendUint32(b, c.moment.Timeline)
	b = binary.BigEndian.AppendUint64(b, uint64(c.moment.At.UnixMicro()))
	for _, h := range c.hashes {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads what encode wrote. Everything else is an error: a cut or altered one, and one of another release.
func parseCursor(s string) (c fanCursor, err error) {
	if len(s) > base64.RawURLEncoding.EncodedLen(cursorSize) || strings.ContainsAny(s, "\r\n") { // which base64 skips
		return c, errCursor
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < cursorHead+cursorTail || b[0] != cursorVersion || (len(b)-cursorHead-cursorTail)%8 != 0 {
		return c, errCursor
	}
	b, sum := b[:len(b)-cursorTail], b[len(b)-cursorTail:]
	if crc32.ChecksumIEEE(b) != binary.BigEndian.Uint32(sum) {
		return c, errCursor
	}
	c.moment = Moment{
		Database: binary.BigEndian.Uint64(b[1:]), Timeline: binary.BigEndian.Uint32(b[9:]),
		At: time.UnixMicro(int64(binary.BigEndian.Uint64(b[13:]))).UTC(),
	}
	for b = b[cursorHead:]; len(b) > 0; b = b[8:] {
		c.hashes = append(c.hashes, binary.BigEndian.Uint64(b))
	}
	return c, nil
}

// since is from when on a replay reads; false: the cursor is of another database, or too old, or of a time to come. at is
// what the next cursor may begin with, where the clock is still the same.
func (c *fanCursor) since(m Moment, now time.Time) (since, at time.Time, ok bool) {
	if c.moment.Database != m.Database || c.moment.Timeline > m.Timeline {
		return since, at, false
	}
	at = c.moment.At
	since = at.Add(-overlap)
	if c.moment.Timeline < m.Timeline {
		since, at = earliest(at, now).Add(-overlapHistory), time.Time{}
	} else if at.After(now.Add(skew)) {
		return since, at, false
	}
	return since, at, !since.Before(now.Add(-keptFor))
}

func (c *fanCursor) has(hash uint64) bool { return slices.Contains(c.hashes, hash) }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// hash names an item, or an item's state, in 8 bytes, which are the same on every instance.
func hash(id string, state notifier.TurnState) uint64 {
	if state != "" {
		id += "\x00" + string(state)
	}
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// sentMost is how much a connection remembers for its cursor: more than a cursor carries, since a moment may stand still
// for as long as a transaction is open.
const sentMost = 4 * cursorMost

// sent is what a connection was sent that its next cursor must name.
type sent struct {
	things []sentThing
	// lost is the latest time of what was forgotten, as there was too much of it.
	lost time.Time
}

type sentThing struct {
	hash uint64
	at   time.Time
}

func (s *sent) add(hash uint64, at time.Time) {
	if len(s.things) >= sentMost {
		slices.SortFunc(s.things, func(a, b sentThing) int { return a.at.Compare(b.at) })
		half := len(s.things) / 2
		s.lost = latest(s.lost, s.things[half-1].at)
		s.things = slices.Clone(s.things[half:])
	}
	s.things = append(s.things, sentThing{hash, at})
}

// after forgets what is not later than t and returns the rest; false: that is not all, or too much for a cursor.
func (s *sent) after(t time.Time) (hashes []uint64, ok bool) {
	s.things = slices.DeleteFunc(s.things, func(x sentThing) bool { return !x.at.After(t) })
	if len(s.things) == 0 {
		s.things = nil // an idle connection keeps no array
	}
	if len(s.things) > cursorMost || s.lost.After(t) {
		return nil, false
	}
	hashes = make([]uint64, len(s.things))
	for i, x := range s.things {
		hashes[i] = x.hash
	}
	return hashes, true
}
