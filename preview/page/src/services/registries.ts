import {
  type DataTransformerInfo,
  type FieldConfigPropertyItem,
  identityOverrideProcessor,
  displayNameOverrideProcessor,
  dataLinksOverrideProcessor,
  FieldConfigProperty,
  numberOverrideProcessor,
  standardEditorsRegistry,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  thresholdsOverrideProcessor,
  unitOverrideProcessor,
  valueMappingsOverrideProcessor,
  booleanOverrideProcessor,
  stringOverrideProcessor,
} from '@grafana/data';

/** Stands in for an option's editor: the preview edits nothing. */
export const noEditor = () => null;

const always = () => true;

const processors: Record<FieldConfigProperty, FieldConfigPropertyItem['process']> = {
  [FieldConfigProperty.Unit]: unitOverrideProcessor,
  [FieldConfigProperty.Min]: numberOverrideProcessor,
  [FieldConfigProperty.Max]: numberOverrideProcessor,
  [FieldConfigProperty.FieldMinMax]: booleanOverrideProcessor,
  [FieldConfigProperty.Decimals]: numberOverrideProcessor,
  [FieldConfigProperty.DisplayName]: displayNameOverrideProcessor,
  [FieldConfigProperty.NoValue]: stringOverrideProcessor,
  [FieldConfigProperty.Thresholds]: thresholdsOverrideProcessor,
  [FieldConfigProperty.Mappings]: valueMappingsOverrideProcessor,
  [FieldConfigProperty.Links]: dataLinksOverrideProcessor,
  [FieldConfigProperty.Actions]: identityOverrideProcessor,
  [FieldConfigProperty.Color]: identityOverrideProcessor,
  [FieldConfigProperty.Filterable]: booleanOverrideProcessor,
};

/** Registers the standard field options and the transformations, which Grafana does when it starts. */
export function registerStandards() {
  standardFieldConfigEditorRegistry.setInit(() =>
    Object.entries(processors).map(([id, process]) => ({
      id,
      path: id,
      name: id,
      process,
      editor: noEditor,
      override: noEditor,
      shouldApply: always,
      settings: {},
    }))
  );
  standardEditorsRegistry.setInit(() =>
    ['text', 'number', 'slider', 'boolean', 'select', 'multi-select', 'radio', 'color', 'unit', 'field-name'].map(
      (id) => ({
        id,
        name: id,
        editor: noEditor,
      })
    )
  );
  standardTransformersRegistry.setInit(() => {
    // One transformation is listed under two names.
    const distinct = new Map<string, DataTransformerInfo>(Object.values(standardTransformers).map((t) => [t.id, t]));
    return [...distinct].map(([id, transformation]) => ({
      id,
      name: transformation.name,
      transformation,
      editor: noEditor,
      imageDark: '',
      imageLight: '',
    }));
  });
}
