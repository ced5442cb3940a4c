// Package session is the running side of Pemmican: when one running agent compacts, who decides it, and what the agent
// and its person are told.
//
// A [Session] is a state machine without input or output of its own. It is told what happened (an [Event]: a request is
// about to go, usage was reported, a request failed, the model was changed, the agent has settled, its tool was called)
// and answers what to do (an [Answer]: go on, start in the background, compact now, wait, refuse, block; and what to say to
// whom). [Session.On] never asks a model, reads a file or starts a goroutine. Whoever runs the agent carries the answers
// out: pi's extension, the gateway, or, for a Go program, [Session.Fit].
//
// [Settings] say when: thresholds written as people think ([Threshold]), reminders, excluded models. [State] is what a
// session has learned, a value that its caller may save and give to the next one.
package session
