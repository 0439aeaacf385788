// Package delivery brings items to fans: the hub of live sockets of this instance, and the registry in Redis of which
// instance holds which fan's sockets.
//
// # What it guarantees
//
// A connection gets hello, then the newest unread items, oldest first, then what is new, each item once by its id. An
// item is never pushed before its At by the database's clock; the item of a turn that had to wait is pushed only when
// Feed.Standing still calls the turn open, and at Closes its fan is told the state it then has. Feed is the truth and is
// read each second; a wake is a hint to read it now, so that a lost, late or doubled wake, or a Redis that is away,
// costs a second at most.
//
// Nobody waits for anybody's socket: no lock is held over I/O, a queue that is full closes its own connection as too
// slow, each write has a deadline, and each socket has a reader. Queues, what a connection remembers of its items and the
// calls it has under way are bounded. An item is remembered for a minute after the Feed returned it last, and the last
// 16,384 of a connection in any case; to hear of one twice, a Feed has to repeat it later than both.
//
// In the registry a fan is a hash of connection to instance, and an instance counts while its lease lives. A connection
// writes and removes its own field alone, so that the late end of an old one never hides a newer one.
//
// # Main path
//
// web authenticates, asks Hub.Full, upgrades and calls Hub.Serve (serve.go), which reads the socket until it ends; a
// second goroutine writes it (write.go); what a connection asks of others, its entry into the hub first, is done by a
// third that lives while there is something to do (act.go, join.go). One goroutine of the hub looks at the Feed and hands
// notices to connections (look.go), one pushes what had to wait (schedule.go).
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
//	Hub.mu is taken alone
//
// The package imports the standard library, notifier, coder/websocket and go-redis.
package delivery
