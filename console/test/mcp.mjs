// An MCP server over HTTP that can change its tools, and can ask for OAuth. It also is the authorization server.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

/** startMcp starts the server. oauth is whether its clients need a token. It cuts the connection in calls of the tools that state.cuts names. */
export async function startMcp({ oauth = false } = {}) {
  const state = { tools: [{ name: "search", description: "Searches documents.", inputSchema: { type: "object", properties: { q: { type: "string" } } } }], tokens: new Set(), codes: new Set(), cuts: new Set() };
  const result = (method, params) => {
    switch (method) {
      case "initialize":
        return { protocolVersion: params.protocolVersion, capabilities: { tools: {}, prompts: {}, resources: {} }, serverInfo: { name: "fixture", version: "1" } };
      case "tools/list":
        return { tools: state.tools };
      case "prompts/list":
        return { prompts: [{ name: "summarise", title: "Summarise", description: "Summarises a document.", arguments: [{ name: "uri", description: "which", required: true }] }] };
      case "resources/list":
        return { resources: [{ uri: "doc://handbook", name: "handbook", description: "How we work.", mimeType: "text/markdown" }] };
      case "tools/call":
        return { content: [{ type: "text", text: "found" }] };
      case "ping":
        return {};
      default:
        return undefined;
    }
  };
  const json = (res, body, status = 200, more = {}) => {
    res.writeHead(status, { "Content-Type": "application/json", ...more });
    res.end(JSON.stringify(body));
  };
  const http = createServer(async (req, res) => {
    const { pathname, searchParams } = new URL(req.url, url);
    let body = "";
    for await (const chunk of req) body += chunk;
    switch (pathname) {
      case "/.well-known/oauth-protected-resource":
      case "/.well-known/oauth-protected-resource/mcp":
        return json(res, { resource: `${url}/mcp`, authorization_servers: [url] });
      case "/.well-known/oauth-authorization-server":
        return json(res, { issuer: url, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token`, registration_endpoint: `${url}/register`, response_types_supported: ["code"], grant_types_supported: ["authorization_code", "refresh_token"], code_challenge_methods_supported: ["S256"], token_endpoint_auth_methods_supported: ["none"] });
      case "/register":
        return json(res, { ...JSON.parse(body), client_id: "console-test" }, 201);
      case "/authorize": {
        const code = randomUUID();
        state.codes.add(code);
        const back = new URL(searchParams.get("redirect_uri"));
        back.searchParams.set("code", code);
        back.searchParams.set("state", searchParams.get("state"));
        res.writeHead(200, { "Content-Type": "text/html" });
        return res.end(`<title>Partner</title><a href="${back.href.replaceAll("&", "&amp;")}">Allow</a>`);
      }
      case "/token": {
        const form = new URLSearchParams(body);
        if (!state.codes.delete(form.get("code"))) return json(res, { error: "invalid_grant" }, 400);
        const token = randomUUID();
        state.tokens.add(token);
        return json(res, { access_token: token, token_type: "Bearer", expires_in: 3600 });
      }
      case "/mcp": {
        if (oauth && !state.tokens.has((req.headers.authorization ?? "").replace("Bearer ", ""))) return json(res, { error: "unauthorized" }, 401, { "WWW-Authenticate": `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"` });
        if (req.method !== "POST") return json(res, {}, 405);
        const { id, method, params } = JSON.parse(body);
        if (id === undefined) {
          res.writeHead(202);
          return res.end();
        }
        if (method === "tools/call" && state.cuts.has(params.name)) {
          res.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
          return setTimeout(() => res.socket.destroy(), 20); // after the call has begun
        }
        const out = result(method, params ?? {});
        return json(res, { jsonrpc: "2.0", id, ...(out ? { result: out } : { error: { code: -32601, message: `no method ${method}` } }) });
      }
      default:
        return json(res, { error: "not found" }, 404);
    }
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${http.address().port}`;
  return { url: `${url}/mcp`, state, close: () => (http.closeAllConnections(), http.close()) };
}
