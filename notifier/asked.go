package notifier

import "slices"

// ChannelsOf returns the channels that a caller's words ask for, each once and in a
// fixed order; "push" is the three to devices. ok is false where a word is none.
func ChannelsOf(words []string) (channels []Channel, ok bool) {
	for _, w := range words {
		switch c := Channel(w); {
		case w == "push":
			channels = append(channels, Push...)
		case slices.Contains(Channels, c):
			channels = append(channels, c)
		default:
			return nil, false
		}
	}
	slices.Sort(channels)
	return slices.Compact(channels), true
}
