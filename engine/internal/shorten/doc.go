// Package shorten makes conversations and texts shorter, so that a request fits into the context window of its model: a [Cut] drops the
// beginning of a conversation, a [Stretch] is the part that a summary may replace, and a [Transcript] is what the summary is made of.
//
// No call is ever separated from its answer, and what the user said last always stays. Everything here is pure: the engine decides when.
package shorten
