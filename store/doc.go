// Package store keeps everything in Postgres, behind the interfaces of the
// packages that use it: waitlist.Store, notifier.Inbox, live.Feed and Lines,
// fanout.Openings, web.Answers and admin.Records. It also opens the Redis that
// others use (redis.go), and keeps nothing there but copies: the inputs of verdicts,
// entries and first pages of inboxes go through a Cache where there is one (cache.go,
// docs/decisions/0010-cache.md). Who writes rows notes the keys that this makes stale
// beside the statement (stale.go). Changes read nothing through it.
//
// Each method that changes something is one transaction that does one whole step:
// rows, event and jobs together. Where one goes from show to show (EraseFan, Wake)
// it is one a show, and may be called again when it broke off. pgx.Tx never leaves the package. Transactions are read committed and
// take their locks in this order: the lock of an idempotency key, which is only
// tried (once.go), the show's advisory lock (a statement of its own, so that the
// next one sees what it waited for), the opening's row, entries by number, seats by
// number, the line's row, rows of fans by number. Decisions and what staff do to a
// whole line take the show's lock exclusively, everything else shares it; it is
// never upgraded. Time is read from the database after the lock and never runs
// back behind the last decision.
//
// SQL stands beside the one function that runs it. Rules are not written in SQL:
// what a turn is worth is worked out by waitlist, which the few statements that
// select by a turn's times repeat in the same integers.
//
// A noun has one file, that of waitlist's, notifier's or delivery's file of the same name where there is one. Beside these:
//
//	decide.go, missed.go, decidewave.go, given.go, due.go, moment.go  decisions, and when they are made
//	entry.go, changeentry.go, wake.go, join.go, joinplan.go, leave.go, position.go, entrylog.go  the line and the places in it
//	claim.go, hold.go, ending.go, turn.go, turnsql.go      what becomes of turns
//	feed.go, standing.go, backlog.go, lines.go, replay.go, messagefeed.go  what a hub reads
//	alert.go, parcel.go, blast.go, delivery.go, planonce.go, recipient.go, unreached.go  what the pipeline reads and keeps
//	stream.go, event.go, opened.go, follower.go, endpoint.go  the event stream and who follows it
//	cache.go, cacheredis.go, inputs.go, source.go, stale.go, inboxhead.go  the cache
//	keeper.go, rescue.go, kept.go, removal.go, partition.go, ended.go  what is kept, and its end
//	overview.go, picture.go, timeline.go, trace.go, order.go, admin.go, laneload.go, sendrate.go  what staff see
//
// All methods may be called concurrently, but for those of Lines and Feed.News. The
// goroutines are those of Clock, Keeper and Cache, which end with their Stop. The package
// imports waitlist, notifier and delivery, pgx, River, goose, otter and go-redis.
package store
