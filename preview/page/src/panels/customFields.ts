import {
  FieldColorModeId,
  FieldConfigProperty,
  type FieldConfigEditorBuilder,
  identityOverrideProcessor,
} from '@grafana/data';

import { noEditor } from '../services/registries';

/** Sets how a panel colours series unless a dashboard says otherwise. */
export const colorBy = (mode: FieldColorModeId) => ({ [FieldConfigProperty.Color]: { defaultValue: { mode } } });

/**
 * Declares a panel's own field options with their defaults, so that a dashboard's overrides of them apply.
 */
export function customFields(defaults: Record<string, unknown>) {
  return (builder: FieldConfigEditorBuilder<any>) => {
    for (const [path, defaultValue] of Object.entries(defaults)) {
      builder.addCustomEditor({
        id: path,
        path,
        name: path,
        defaultValue,
        editor: noEditor,
        override: noEditor,
        process: identityOverrideProcessor,
        shouldApply: () => true,
      });
    }
  };
}
