import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, bracketMatching, foldGutter, foldKeymap, syntaxHighlighting } from "@codemirror/language";
import { unifiedMergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

export interface CodeProps {
  label: string;
  value: string;
  onChange?: (text: string) => void;
  /** Shows what differs from this text. */
  original?: string;
  /** Whether the text is not JSON. */
  plain?: boolean;
  invalid?: boolean;
}

const look = EditorView.theme({
  "&": { backgroundColor: "var(--panel)", color: "var(--text)", fontSize: "12px", maxHeight: "60vh" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--font-mono, ui-monospace, Menlo, Consolas, monospace)", lineHeight: "20px", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", border: "none" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent) !important" },
  ".cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--ok) 12%, transparent) !important" },
  ".cm-changedText": { background: "color-mix(in srgb, var(--ok) 28%, transparent) !important" },
  ".cm-deletedChunk": { backgroundColor: "color-mix(in srgb, var(--fail) 12%, transparent) !important" },
  ".cm-deletedChunk .cm-deletedText": { background: "color-mix(in srgb, var(--fail) 28%, transparent) !important" },
  ".cm-collapsedLines": { background: "var(--sunken)", color: "var(--muted)" },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--wait)" },
]);

/** The editor is in a shadow root: there it needs no style element, which the page's policy would refuse. */
export default function CodeMirror({ label, value, onChange, original, plain, invalid }: CodeProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const attributes = useRef(new Compartment());
  const first = useRef(value);
  first.current = value;
  const readOnly = onChange === undefined;
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const parent = document.createElement("div");
    root.replaceChildren(parent);
    const extensions: Extension[] = [lineNumbers(), foldGutter(), history(), drawSelection(), bracketMatching(), keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap]), EditorView.lineWrapping, look, attributes.current.of([])];
    // Colours of differences leave no room for those of syntax.
    if (!plain && original === undefined) extensions.push(json(), syntaxHighlighting(colours));
    if (readOnly) extensions.push(EditorState.readOnly.of(true));
    else extensions.push(EditorView.updateListener.of((u) => u.docChanged && changed.current?.(u.state.doc.toString())));
    if (original !== undefined) extensions.push(unifiedMergeView({ original, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }));
    const v = new EditorView({ state: EditorState.create({ doc: first.current, extensions }), parent, root });
    view.current = v;
    return () => {
      v.destroy();
      view.current = null;
    };
  }, [original, plain, readOnly]);
  useEffect(() => {
    view.current?.dispatch({ effects: attributes.current.reconfigure(EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", ...(invalid ? { "aria-invalid": "true" } : {}) })) });
  }, [label, invalid, original, plain, readOnly]);
  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== value) v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={host} data-code className={`min-w-0 overflow-hidden rounded-md border ${invalid ? "border-fail" : "border-border"}`} />;
}
