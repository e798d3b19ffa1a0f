// Package aisdk serves browsers that use the ai package of Vercel's AI SDK: useChat and
// DefaultChatTransport, of major version 6 or 7.
//
//	srv, err := server.New(server.Config{Mailbox: box, Routes: aisdk.Routes()})
//
//	const chat = useChat({ transport: new DefaultChatTransport({ api: "/v1/ai-sdk/chat" }) })
//
// A chat is a thread. A run is one message of the assistant, with the id of the run's first
// stored message; what people decide, and what tools of the page return, goes on with that
// message. [Encoder] is the map from events to chunks, docs/aisdk.md the guide.
package aisdk
