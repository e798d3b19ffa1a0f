import { Dialog } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { useLanguage } from "../i18n/i18n";
import { Button } from "./button";

/** Confirm says what will happen before it does. The button has the verb and the number. */
export function Confirm({ open, onOpenChange, title, action, danger, onConfirm, children }: { open: boolean; onOpenChange: (open: boolean) => void; title: string; action: string; danger?: boolean; onConfirm: () => void; children: ReactNode }) {
  const { t } = useLanguage();
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]" />
        <Dialog.Popup role="alertdialog" className="fixed top-[16vh] left-1/2 z-50 flex max-h-[70vh] w-[min(480px,calc(100vw-24px))] -translate-x-1/2 flex-col gap-3 overflow-auto rounded-lg border border-line bg-panel p-5 shadow-overlay">
          <Dialog.Title className="text-title font-semibold">{title}</Dialog.Title>
          <Dialog.Description render={<div />} className="flex flex-col gap-2 text-muted">
            {children}
          </Dialog.Description>
          <div className="mt-2 flex flex-wrap justify-end gap-2">
            <Dialog.Close render={<Button>{t("action.keep")}</Button>} />
            <Button
              kind={danger ? "danger" : "primary"}
              onClick={() => {
                onOpenChange(false);
                onConfirm();
              }}
            >
              {action}
            </Button>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
