import { useEffect, useRef, useState } from "react";
import { tenantOf } from "../api/client";
import type { Doc } from "../api/config";
import { differing, same } from "./diff";
import { forget, keep, leave, recall } from "./kept";

export interface Draft<T> {
  value: T;
  set: (change: Partial<T>) => void;
  /** Changes the whole of it. */
  become: (next: (value: T) => T) => void;
  dirty: boolean;
  /** What the edit began with. */
  base: T;
  /** When the edit was kept by the browser that this one continues, or 0. */
  restored: number;
  /** The fields that others have changed since the edit began. */
  others: string[];
  discard: () => void;
  /** Continues the edit on top of what is there now. */
  rebase: () => void;
  done: (next: T) => void;
}

/**
 * useDraft keeps an edit apart from what is read again and again. What is not edited follows the server. An edit of what may hold no secret is kept in the
 * browser: it is there after a reload.
 */
export function useDraft<T extends object>(name: string, saved: T, keeps: boolean): Draft<T> {
  const key = `${tenantOf()} ${name}`;
  const [value, setValue] = useState(saved);
  const [base, setBase] = useState(saved);
  const [restored, setRestored] = useState(0);
  const dirty = !same(value, base);
  const before = useRef(saved);
  useEffect(() => {
    if (same(before.current, saved)) return;
    before.current = saved;
    if (!dirty) {
      setValue(saved);
      setBase(saved);
    }
  }, [saved, dirty]);
  useEffect(() => {
    if (!keeps) return;
    let current = true;
    void recall(key).then((kept) => {
      if (!current || !kept || same(kept.doc, saved)) return;
      setValue(kept.doc as unknown as T);
      setBase(kept.base.doc as unknown as T);
      setRestored(kept.at);
    });
    return () => {
      current = false;
    };
  }, [key, keeps]); // eslint-disable-line
  const unkept = useRef<() => void>(undefined); // writes what the browser does not keep yet
  useEffect(() => {
    unkept.current = undefined;
    if (!keeps || !dirty) return;
    const edit = () => ({ doc: value as unknown as Doc, base: { doc: base as unknown as Doc, etag: "" }, at: Date.now() });
    const write = () => keep(key, edit());
    const hide = () => leave(key, edit());
    unkept.current = write;
    const timer = window.setTimeout(write, 500);
    window.addEventListener("pagehide", hide);
    return () => {
      window.clearTimeout(timer);
      window.removeEventListener("pagehide", hide);
    };
  }, [value, base, dirty, key, keeps]);
  useEffect(() => () => unkept.current?.(), []); // the page is left within the half second
  const begin = (next: T) => {
    unkept.current = undefined;
    forget(key);
    setValue(next);
    setBase(next);
    setRestored(0);
  };
  return {
    value,
    set: (change) => setValue((v) => ({ ...v, ...change })),
    become: setValue,
    dirty,
    base,
    restored,
    others: dirty ? differing(base, saved) : [],
    discard: () => begin(saved),
    rebase: () => setBase(saved),
    done: begin,
  };
}
