// Package aisdk serves pages that use the ai package of Vercel's AI SDK, major version 6 or 7:
// useChat and DefaultChatTransport.
//
//	srv, err := server.New(server.Config{Mailbox: box, Routes: aisdk.Routes()})
//
//	const chat = useChat({ transport: new DefaultChatTransport({ api: "/v1/ai-sdk/chat" }) })
//
// A chat is a thread. A run is one assistant message, whose id is that of the run's first
// stored message. Decisions, and the results of tools that the page executes, continue that
// message. [Encoder] maps events to chunks; docs/aisdk.md is the guide.
package aisdk
