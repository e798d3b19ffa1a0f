/** Part is a component of an interface that an agent has drawn, as the console shows it: what a user would read. */
export interface Part {
  type: string;
  text?: string;
  /** What a field holds. */
  value?: string;
  /** The action that it offers. */
  action?: string;
  parts: Part[];
}

export interface Surface {
  id: string;
  parts: Part[];
}

type Any = Record<string, unknown>;

const isObject = (v: unknown): v is Any => typeof v === "object" && v !== null && !Array.isArray(v);
const objects = (v: unknown): Any[] => (Array.isArray(v) ? v.filter(isObject) : []);
const DEPTH = 32;
const LIMIT = 500;

/** The tools whose calls draw. */
export const drawingTools = new Set(["render_a2ui", "render_json_ui", "render_openui_ui"]);

/** outline returns what a call has drawn, or nothing if it draws nothing that can be outlined. */
export function outline(tool: string, args: unknown, result?: unknown): Surface[] {
  const input = parsed(args);
  if (!isObject(input)) return [];
  if (tool === "render_a2ui") return a2ui(input);
  const output = parsed(result);
  const drawn: Any = isObject(output) ? (isObject(output.data) ? output.data : output) : {};
  if (tool === "render_json_ui") return jsonRender(drawn.spec ?? input.spec, String(drawn.surface_id ?? input.surface_id ?? ""));
  return [];
}

/** program returns the program of a call that draws with OpenUI. */
export function program(tool: string, args: unknown, result?: unknown): string {
  if (tool !== "render_openui_ui") return "";
  const [input, output] = [parsed(args), parsed(result)];
  const drawn = isObject(output) ? (isObject(output.data) ? output.data : output) : {};
  const code = drawn.code ?? (isObject(input) ? (input.code ?? input.source) : undefined);
  return typeof code === "string" ? code : "";
}

function parsed(v: unknown): unknown {
  if (typeof v !== "string") return v;
  try {
    return JSON.parse(v);
  } catch {
    return undefined;
  }
}

interface Component {
  type: string;
  props: Any;
}

function a2ui(input: Any): Surface[] {
  const surfaces = new Map<string, { root: string; parts: Map<string, Component>; data: Any }>();
  for (const m of Array.isArray(input.messages) ? objects(input.messages) : [input]) {
    for (const [key, body] of Object.entries(m)) {
      if (!isObject(body) || typeof body.surfaceId !== "string") continue;
      const s = surfaces.get(body.surfaceId) ?? { root: "root", parts: new Map<string, Component>(), data: {} };
      surfaces.set(body.surfaceId, s);
      if (key === "beginRendering") s.root = String(body.root);
      if (key === "deleteSurface") surfaces.delete(body.surfaceId);
      if (key === "dataModelUpdate") put(s.data, body.path, entries(body.contents));
      if (key === "updateDataModel") put(s.data, body.path, body.value);
      for (const c of key === "surfaceUpdate" || key === "updateComponents" ? objects(body.components) : []) {
        if (typeof c.component === "string") s.parts.set(String(c.id), { type: c.component, props: c });
        else if (isObject(c.component)) {
          const [type, props] = Object.entries(c.component)[0] ?? [];
          if (type) s.parts.set(String(c.id), { type, props: isObject(props) ? props : {} });
        }
      }
    }
  }
  return [...surfaces].map(([id, s]) => {
    let left = LIMIT;
    const draw = (name: string, depth: number): Part[] => {
      const c = s.parts.get(name);
      if (!c || depth > DEPTH || left-- <= 0) return [];
      const value = (v: unknown) => said(v, s.data);
      const below = children(c.props).flatMap((n) => draw(n, depth + 1));
      const text = value(c.props.text ?? (c.type === "TextField" ? undefined : c.props.value) ?? c.props.name ?? c.props.url);
      const label = value(c.props.label);
      const field = c.props.label !== undefined || c.type === "Slider";
      return [{ type: c.type, text: field ? label : text, value: field ? value(c.props.value ?? c.props.text) : undefined, action: actionOf(c.props.action), parts: below }];
    };
    const parts = draw(s.root, 0);
    return { id, parts: parts.length ? parts : [...s.parts.keys()].slice(0, 1).flatMap((n) => draw(n, 0)) };
  });
}

function actionOf(a: unknown): string | undefined {
  if (!isObject(a)) return undefined;
  const name = isObject(a.event) ? a.event.name : a.name;
  return typeof name === "string" ? name : undefined;
}

/** children returns the components that a component names. */
function children(props: Any): string[] {
  const out: string[] = [];
  const list = (v: unknown) => {
    if (Array.isArray(v)) for (const e of v) typeof e === "string" ? out.push(e) : isObject(e) && typeof e.child === "string" && out.push(e.child);
    else if (isObject(v)) {
      list(v.explicitList);
      const template = isObject(v.template) ? v.template.componentId : v.componentId;
      if (typeof template === "string") out.push(template);
    }
  };
  for (const name of ["child", "entryPointChild", "contentChild", "trigger", "content"]) if (typeof props[name] === "string") out.push(props[name] as string);
  for (const name of ["children", "tabItems", "tabs"]) list(props[name]);
  return out;
}

/** entries returns the object that entries of a data model of v0.8 make. */
function entries(list: unknown): Any {
  return Object.fromEntries(objects(list).map((e) => [String(e.key), e.valueMap !== undefined ? entries(e.valueMap) : (e.valueString ?? e.valueNumber ?? e.valueBoolean)]));
}

function put(data: Any, path: unknown, value: unknown) {
  const keys = typeof path === "string" ? path.split("/").filter(Boolean) : [];
  if (!keys.length) {
    if (isObject(value)) Object.assign(data, value);
    return;
  }
  let at = data;
  for (const k of keys.slice(0, -1)) {
    if (!Object.hasOwn(at, k) || !isObject(at[k])) Object.defineProperty(at, k, { value: {}, enumerable: true, configurable: true, writable: true });
    at = at[k] as Any;
  }
  Object.defineProperty(at, keys.at(-1)!, { value, enumerable: true, configurable: true, writable: true });
}

/** said returns a value as text: a literal, or what the data model has at its path. */
function said(v: unknown, data: Any): string | undefined {
  if (v === undefined || v === null) return undefined;
  if (!isObject(v)) return Array.isArray(v) ? v.map(String).join(", ") : String(v);
  for (const literal of ["literalString", "literalNumber", "literalBoolean", "literalArray"]) if (v[literal] !== undefined) return String(v[literal]);
  const path = v.path ?? v.$bindState ?? v.$state;
  if (typeof path !== "string") return undefined;
  let at: unknown = data;
  for (const k of path.split("/").filter(Boolean)) at = isObject(at) && Object.hasOwn(at, k) ? at[k] : undefined;
  return at === undefined ? `{${path}}` : isObject(at) ? JSON.stringify(at) : String(at);
}

function jsonRender(spec: unknown, id: string): Surface[] {
  if (!isObject(spec) || !isObject(spec.elements) || typeof spec.root !== "string") return [];
  const elements = spec.elements;
  const data = isObject(spec.state) ? spec.state : {};
  let left = LIMIT;
  const draw = (key: string, depth: number): Part[] => {
    const e = Object.hasOwn(elements, key) ? elements[key] : undefined;
    if (!isObject(e) || depth > DEPTH || left-- <= 0) return [];
    const props = isObject(e.props) ? e.props : {};
    const label = props.title ?? props.label ?? props.text;
    const bound = objects(Object.values(isObject(e.on) ? e.on : {}).flat());
    const below = (Array.isArray(e.children) ? e.children : []).flatMap((c) => (typeof c === "string" ? draw(c, depth + 1) : []));
    return [{ type: String(e.type), text: said(label, data), value: said(props.value, data), action: typeof bound[0]?.action === "string" ? bound[0].action : undefined, parts: below }];
  };
  return [{ id, parts: draw(spec.root, 0) }];
}
