package main

import (
	"fanline/delivery/dial"
)

// guard says where connections to addresses that others chose may go.
func (s *settings) guard() dial.Guard { return dial.Guard{} }
