// Package notifier is what Fanline tells fans and how that is set in motion: items
// and the inbox, messages, channels and deliveries, lanes, texts, the event stream, and the event bus with the lanes'
// workers on River.
//
// An event is stored with its cause in one transaction, together with one job for
// each of its subscribers, which therefore fail and retry independently. Jobs may
// run twice; handlers leave alone what is not theirs and do nothing the second
// time. Lanes are queues of their own.
//
// Everything here may be called concurrently. The goroutines are River's, which Bus owns, and those of Loops, which are
// how Tail, LaneWatch and parts of other packages do what they do by themselves; each ends with the Stop of its owner.
// The package imports the standard library and River.
package notifier
