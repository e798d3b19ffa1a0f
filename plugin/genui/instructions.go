package genui

// What the model is told. %s is the catalogue.

const instructions08 = `You can show the user an interface by calling render_a2ui with A2UI messages (v0.8). Draw where it helps: forms, choices, tables, summaries. Say the rest in words, and do not repeat in words what the interface shows.

Pass {"messages": [...]}. Each message has exactly one of these keys:
- surfaceUpdate: {"surfaceId", "components": [{"id", "component": {"Type": {...properties}}}]}. The list is flat: components refer to each other by id.
- dataModelUpdate: {"surfaceId", "path"?, "contents": [{"key", "valueString" or "valueNumber" or "valueBoolean" or "valueMap"}]}.
- beginRendering: {"surfaceId", "root": id of the root component, "styles"?}. Nothing is shown before it.
- deleteSurface: {"surfaceId"}.
To draw: surfaceUpdate, then dataModelUpdate, then beginRendering, in one call. To change what is shown, send only the components or the data that change, with the same surfaceId.
Texts are objects: {"literalString": "Hello"}, or {"path": "/user/name"} to bind the data model. Children are {"explicitList": ["id", ...]} or {"template": {"componentId", "dataBinding"}}.
The catalogue is %s.
`

const components08 = `Its components and their properties (? is optional):
Text{text, usageHint?: h1|h2|h3|h4|h5|caption|body} Image{url, fit?, usageHint?} Icon{name} Video{url} AudioPlayer{url, description?} Divider{axis?}
Row{children, distribution?, alignment?} Column{children, distribution?, alignment?} List{children, direction?, alignment?} Card{child} Tabs{tabItems: [{title, child}]} Modal{entryPointChild, contentChild}
Button{child, primary?, action: {name, context?: [{key, value}]}} CheckBox{label, value} TextField{label, text?, textFieldType?} DateTimeInput{value, enableDate?, enableTime?} MultipleChoice{selections, options: [{label, value}], maxAllowedSelections?} Slider{value, minValue?, maxValue?}
`

const instructions09 = `You can show the user an interface by calling render_a2ui with A2UI messages (v0.9). Draw where it helps: forms, choices, tables, summaries. Say the rest in words, and do not repeat in words what the interface shows.

Pass {"messages": [...]}. Each message has "version": "v0.9" and exactly one of these keys:
- createSurface: {"surfaceId", "catalogId"}. First, once for each surface.
- updateComponents: {"surfaceId", "components": [{"id", "component": "Type", ...properties}]}. The list is flat: components refer to each other by id. The root has the id "root".
- updateDataModel: {"surfaceId", "path"?, "value"}. The path "/" is the whole model.
- deleteSurface: {"surfaceId"}.
To draw, send them in this order, in one call. To change what is shown, send only the components or the data that change, with the same surfaceId and without createSurface.
A text is a text, or {"path": "/user/name"} to bind the data model. Children are ["id", ...] or {"componentId", "path"}.
The catalogId is %s.
`

const components09 = `Its components and their properties (? is optional):
Text{text, variant?: h1|h2|h3|h4|h5|caption|body} Image{url, description?, fit?, variant?} Icon{name} Video{url} AudioPlayer{url, description?} Divider{axis?}
Row{children, justify?, align?} Column{children, justify?, align?} List{children, direction?, align?} Card{child} Tabs{tabs: [{title, child}]} Modal{trigger, content}
Button{child, variant?: default|primary|borderless, action: {event: {name, context?: {key: value}}}} CheckBox{label, value} TextField{label, value?, variant?: longText|number|shortText|obscured} DateTimeInput{value, label?, enableDate?, enableTime?} ChoicePicker{options: [{label, value}], value, label?, variant?: multipleSelection|mutuallyExclusive} Slider{value, max, min?, label?}
`

const aboutActions = `When the user acts in an interface, for example presses a button, you receive a user message <ui_action>{"surfaceId", "sourceComponentId", "name", "context"}</ui_action>. It was made by the interface, not typed: react to it, usually by updating the surface.
If the page cannot draw an interface, you receive a user message <ui_error>{"surfaceId", "code", "path", "message"}</ui_error>. The user has not typed it: draw the interface again, without the mistake.
`

// aboutPrompt has the tool.
const aboutPrompt = `You can show the user an interface by calling %s with a prompt that says what to show, with all data: another agent draws it and does not see this conversation. Draw where it helps, and do not repeat in words what the interface shows.
`

// aboutOwn has the tool and the parameter.
const aboutOwn = `You can show the user an interface by calling %s with %s, which is the interface itself. Draw where it helps, and do not repeat in words what the interface shows.
`

const answerJSONRender = `Answer with an interface and nothing else: lines of JSON Patch operations (RFC 6902), one per line, without fences, that build a JSON Render spec.
`

const aboutJSONRender = `A JSON Render spec is {"root": key, "elements": {key: {"type", "props": {}, "children": [keys], "on"?: {event: {"action", "params"?}}}}, "state"?: {}}. As operations, the root first, then each element after its parent:
{"op":"add","path":"/root","value":"card"}
{"op":"add","path":"/elements/card","value":{"type":"Card","props":{"title":"Order"},"children":["name","send"]}}
{"op":"add","path":"/elements/name","value":{"type":"Input","props":{"label":"Name","value":{"$bindState":"/name"}},"children":[]}}
{"op":"add","path":"/elements/send","value":{"type":"Button","props":{"label":"Send"},"on":{"press":{"action":"submit","params":{"name":{"$state":"/name"}}}},"children":[]}}
{"op":"add","path":"/state","value":{"name":""}}
Props read the state with {"$state": path} and bind it with {"$bindState": path}. Unless you are told of others, the types are Card{title}, Stack{direction?}, Heading{text}, Text{text}, Metric{label, value}, Input{label, value}, Button{label}.
`

const answerOpenUI = `Answer with an interface in OpenUI Lang and nothing else.
`

const aboutOpenUI = `OpenUI Lang has one statement per line: id = Type(arguments). root is drawn. Arguments are positional: texts in double quotes, numbers, true, false, null, [lists], {objects}, ids of other statements. Optional arguments are left out from the end.
root = Card([header, form])
header = CardHeader("Order", "One step")
form = Form("order", buttons, [who])
who = FormControl("Your name", name)
name = Input("name", "Ann")
buttons = Buttons([send])
send = Button("Send", Action([@ToAssistant("Send the order")]), "primary")
Unless you are told of others, the types are Card([children]), CardHeader(title, subtitle?), TextContent(text, size?), Callout(variant, title, description), Table([columns]), Col(label, [values]), Tag(text), Input(name, placeholder?), FormControl(label, input), Form(name, buttons, [fields]), Buttons([buttons]), Button(label, action?, variant?), FollowUpBlock([items]), FollowUpItem(text).
`
