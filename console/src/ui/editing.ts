import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { tenantOf } from "../api/client";
import { documentQuery, validate, type Doc, type Namespace, type Problem, type Read } from "../api/config";
import { bare, fill } from "./bare";
import { tidy } from "./diff";
import { forget, keep, leave, recall, type Kept } from "./kept";

const keyOf = (ns: Namespace, id: string) => `${tenantOf()} ${ns}/${id}`;

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export interface Editing {
  doc: Doc;
  set: (doc: Doc) => void;
  /** What the edit began with. */
  base: Read;
  dirty: boolean;
  /** What is there now, if another writer changed it since the edit began. */
  theirs?: Read;
  restored?: number;
  problems: Problem[];
  checked: boolean;
  /** Begins again with what was saved. */
  saved: (read: Read) => void;
  discard: () => void;
  /** Continues with a document that has what others wrote in it. */
  rebase: (doc: Doc, on: Read) => void;
}

/**
 * useEditing keeps the edit of a document apart from what is read again and again, and in this browser, without secrets, so that a reload, signing out or a
 * crash loses no text. id is "" for a new document, which begins as fresh.
 */
export function useEditing(ns: Namespace, id: string, fresh: Doc) {
  const query = useQuery(documentQuery(ns, id));
  const read: Read | undefined = id === "" ? { doc: fresh, etag: "" } : query.data;
  const key = keyOf(ns, id);
  const [state, setState] = useState<{ doc: Doc; base: Read; restored?: number }>();
  const [problems, setProblems] = useState<Problem[]>([]);
  const [checked, setChecked] = useState(false);
  const loaded = useRef("");
  const [recalled, setRecalled] = useState<{ key: string; kept?: Kept }>();
  useEffect(() => {
    let current = true;
    void recall(key).then((kept) => current && setRecalled({ key, kept }));
    return () => {
      current = false;
    };
  }, [key]);
  if (read && recalled?.key === key && loaded.current !== key) {
    loaded.current = key;
    const { kept } = recalled;
    setState(kept && !same(kept.doc, bare(read.doc)) ? { doc: fill(kept.doc, read.doc) as Doc, base: { doc: fill(kept.base.doc, read.doc) as Doc, etag: kept.base.etag }, restored: kept.at } : { doc: read.doc, base: read });
    setProblems([]);
  }
  const dirty = state !== undefined && !same(tidy(state.doc), tidy(state.base.doc));
  // What is not edited follows the server.
  useEffect(() => {
    if (read && state && !dirty && read.etag !== state.base.etag && id !== "") setState({ doc: read.doc, base: read });
  }, [read, state, dirty, id]);
  const written = useRef(0);
  useEffect(() => {
    if (!state) return;
    if (!dirty) {
      forget(key);
      return;
    }
    const edit = () => ({ doc: bare(state.doc) as Doc, base: { doc: bare(state.base.doc) as Doc, etag: state.base.etag }, at: Date.now() });
    const now = () => {
      written.current = Date.now();
      keep(key, edit());
    };
    const hide = () => leave(key, edit());
    const timer = window.setTimeout(now, Math.max(0, Math.min(500, written.current + 1000 - Date.now()))); // also while the user types on and on
    window.addEventListener("pagehide", hide);
    return () => {
      window.clearTimeout(timer);
      window.removeEventListener("pagehide", hide);
    };
  }, [state, dirty, key]);
  const text = state && JSON.stringify(state.doc);
  useEffect(() => {
    if (!text || !dirty) {
      setChecked(false);
      if (!dirty) setProblems([]);
      return;
    }
    let current = true;
    setChecked(false);
    const timer = window.setTimeout(() => {
      validate(ns, id, JSON.parse(text) as Doc).then(
        (list) => {
          if (!current) return;
          setProblems(list);
          setChecked(true);
        },
        () => {}, // saving says what is wrong
      );
    }, 400);
    return () => {
      current = false;
      window.clearTimeout(timer);
    };
  }, [text, dirty, ns, id]);
  const set = useCallback((doc: Doc) => setState((s) => s && { ...s, doc }), []);
  const saved = useCallback(
    (r: Read) => {
      forget(key);
      setState({ doc: r.doc, base: r });
    },
    [key],
  );
  const editing: Editing | undefined = state && {
    doc: state.doc,
    base: state.base,
    restored: state.restored,
    dirty,
    problems,
    checked,
    set,
    saved,
    theirs: dirty && read && id !== "" && read.etag !== state.base.etag ? read : undefined,
    discard: () => read && saved(read),
    rebase: (doc, on) => setState({ doc, base: on }),
  };
  return { query, editing };
}
