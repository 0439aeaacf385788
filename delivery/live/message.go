package live

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"fanline/notifier"
)

// message is an item or an update on its way to the connections of a fan, or of many, which share its bytes.
type message struct {
	id   string
	hash uint64 // of the id; of an update, of id and state
	// at is when it became visible; of an update, when it was known.
	at time.Time
	// item is nil for an update.
	item *notifier.Item
	// silent: the fan has read the item; only its turn is to be known.
	silent bool
	// turn: the item is that of a turn. state and closes are the turn's; state is an update's, too.
	turn   bool
	state  notifier.TurnState
	closes time.Time

	once  sync.Once
	bytes []byte
	err   error
}

func (h *Hub) itemMessage(n *Notice) *message {
	return &message{
		id: n.Item.ID, hash: hash(n.Item.ID, ""), at: n.At, item: n.Item, silent: n.Silent,
		turn: isTurn(n), state: n.Item.State, closes: n.Closes,
	}
}

func (h *Hub) updateMessage(id string, state notifier.TurnState) *message {
	// A little later than it was, by whichever clock: a cursor names it a little longer.
	return &message{id: id, hash: hash(id, state), at: h.cfg.Clock.Now().Add(skew), state: state}
}

func isTurn(n *Notice) bool { return n.Turn != TurnKey{} }

// frame is encoded once, by the first connection that wants it: most repeats are wanted by none.
func (m *message) frame() ([]byte, error) {
	m.once.Do(func() {
		if m.item == nil {
			m.bytes = encode(updateFrame{"update", notifier.Update{ID: m.id, State: m.state}})
			return
		}
		m.bytes, m.err = json.Marshal(itemFrame{"item", m.item})
		if m.err != nil {
			m.err = fmt.Errorf("encode item %s: %w", m.id, m.err)
		}
	})
	return m.bytes, m.err
}
