// Package live brings items over WebSockets to the fans who look: the hub of the sockets of this instance, and the registry in
// Redis of which instance holds which fan's. Those who do not look are told by package delivery.
//
// # What it guarantees
//
// A connection gets hello, then what its fan missed, oldest first, then what is new, each item once by its id. An item is
// never pushed before its At by the database's clock; the item of a turn that had to wait is pushed only when
// Feed.Standing still calls the turn open, and at Closes its fan is told the state it then has. Feed is the truth and is
// read each second; a wake is a hint to read it now, so that a lost, late or doubled wake, or a Redis that is away,
// costs a second at most.
//
// What a fan missed is what became visible since their cursor, on any instance, at most 1,000 items and 1,000 turns, with
// an update for each turn that changed. Without a cursor it is the newest 200 unread items. So it is, with reset in hello,
// for a cursor that cannot be used: older than the 90 days that items are kept, with more than that missed, of another
// database, of a time to come, or not a cursor at all. The last is no error before the upgrade, since a browser does not
// show that one to the page, which would come again with the same cursor for ever.
//
// A cursor follows what was missed and each batch of what is new. It never passes anything of its fan that is not in the
// connection's queue: not a commit that no look has seen, not a push that waits for its moment or for Standing. A client
// who comes back gets nothing again that the cursor names; what came after the last cursor may come again, and so may
// the oldest of more than 600 items of one second.
//
// A fan's positions are looked at once a second and told where they changed; from 100 on, where they changed by a
// hundredth. That costs a few statements a second for all connected fans together, whatever their number and whatever
// the line's length: the counts of the blocks, and the places in those blocks where somebody is to be told.
//
// Nobody waits for anybody's socket: no lock is held over I/O, a queue that is full closes its own connection as too
// slow, each write has a deadline, and each socket has a reader. Queues, what a connection remembers of its items and the
// calls it has under way are bounded. An item is remembered for a minute after the Feed returned it last, and the last
// 16,384 of a connection in any case; to hear of one twice, a Feed has to repeat it later than both.
//
// No more than MaxJoining connections catch up at once: the others are refused before the upgrade. A page of a replay is
// read when the one before has been written.
//
// In the registry a fan is a hash of connection to instance, and an instance counts while its lease lives. A connection
// writes and removes its own field alone, so that the late end of an old one never hides a newer one. Of more than eight
// connections of a fan the oldest end, wherever they are; while Redis is away each instance counts its own.
//
// # Main path
//
// web authenticates, asks Hub.Full, upgrades and calls Hub.Serve (serve.go), which reads the socket until it ends; a
// second goroutine writes what its queue has (write.go, queue.go); what a connection asks of others, its entry into the hub first, is done by a
// third that lives while there is something to do (act.go, join.go). One goroutine of the hub looks at the Feed and hands
// notices to connections (look.go), one pushes what had to wait (due.go, schedule.go), one tells positions
// (lines.go, rank.go, position.go). cursor.go is what a cursor says, place.go who gets one, signout.go whom a sign-out closes.
//
// Registry is registry.go and registry_*.go. Feed, Acts, Lines and Presence are what the hub
// asks of others (feed.go, lines.go, hub.go).
//
// # Lifecycle
//
// NewRegistry, NewHub, Hub.Start, Registry.Start(hub), serving. To stop: Hub.Stop drains the sockets and waits for every
// goroutine, then Registry.Stop takes this instance out of Redis. Stop may be called twice.
//
// # Concurrency
//
// Every exported method may be called concurrently, Start once. Locks are taken in the order they stand here, and
// nothing blocks under any of them:
//
//	shard.mu > schedule.mu
//	shard.mu > conn.mu
//	shard.mu > Registry.mu
//	Hub.mu, debts.mu, signOuts.mu and lines.mu are taken alone
//
// The package imports the standard library, notifier, coder/websocket and go-redis.
package live
