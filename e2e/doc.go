// Package e2e has no code of its own: its tests run the built program from outside,
// several instances of it on one Postgres and one redis-server, and look at it the
// way a ticketing app, fans, an operator and a power cut do.
//
// A test makes a world (world_test.go): a database, a redis-server and instances as
// child processes, which it may kill and start again at the same addresses. It
// speaks to them through package sim, that is through the public API, and reads
// Postgres or Redis directly only to do damage. What an instance wrote is shown when
// its test fails, and is searched for secrets and for reports of the race detector
// when any test ends.
//
// The line and the lanes:
//
//	line_test.go     whose turn it is, over two instances
//	rush_test.go     many at once: claims, reports, joins
//	socket_test.go   a fan's sockets on two instances: coming back, and two at once
//	stream_test.go   a socket cut at random moments
//	once_test.go     requests with an idempotency key, through kill -9
//	kill_test.go     kill -9 of an instance
//	outage_test.go   Redis, Postgres and the queue's listener away, and back
//	stop_test.go     stopping as asked; readiness and metrics
//	command_test.go  the other commands, and bad configuration
//	phones_test.go   messages that come by every channel, and the channels' settings
//	callback_test.go what providers tell later, and the digest
//	followers_test.go     the event stream, over HTTP, as webhooks and in Kafka
//	texts_test.go    that texts, addresses and secrets stand nowhere but where they must
//	announcement_test.go  announcements on two instances, and under kill -9
//	blast_test.go    a blast through kill -9 and a lost Redis
//	blastloss_test.go     that a blast misses nobody and tells nobody twice
//	alert_test.go    which sends may have been made again: those of the one window
//	death_test.go    a thousand fans whose instance died
//	import_test.go   a file put in line, and one that breaks off
//	dev_test.go      fanline dev, and its fan page
//	manual_test.go   that the docs name what there is
//	ship_test.go     what the image holds, built and run without one
//	arch_test.go     which package may import which
//
// The faults come at random moments, drawn from a seed that is printed: -e2e.seed
// repeats one, and -e2e.rounds plays more of them (make faults).
package e2e
