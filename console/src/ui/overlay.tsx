import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";

/** Overlay shows something above the page until it is closed. */
export function Overlay({ open, onOpenChange, title, children, className = "" }: { open: boolean; onOpenChange: (open: boolean) => void; title: string; children: ReactNode; className?: string }) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]" />
        <Dialog.Popup className={`fixed top-[12vh] left-1/2 z-50 max-h-[76vh] w-[min(560px,calc(100vw-24px))] -translate-x-1/2 overflow-auto rounded-lg border border-line bg-panel shadow-overlay ${className}`}>
          <Dialog.Title className="sr-only">{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
