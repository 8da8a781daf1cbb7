import { type ScopedVars, type TimeRange, type TypedVariableModel } from '@grafana/data';
import { type TemplateSrv } from '@grafana/runtime';
import { type SceneObject, sceneGraph } from '@grafana/scenes';

const variablePattern = /\$\w+|\$\{[^}]+\}|\[\[[^\]]+\]\]/;

/**
 * Template variables as scenes hold them: those of the object that runs a query, which comes along in the scoped variables,
 * or else those of the dashboard on the page.
 */
export class PreviewTemplateSrv implements TemplateSrv {
  getVariables(): TypedVariableModel[] {
    const scene = activeScene();
    const variables = scene ? sceneGraph.getVariables(scene).state.variables : [];
    // Plugins read name, label and type of the old model, which scenes' states have.
    return variables.map(({ state }) => state as unknown as TypedVariableModel);
  }

  replace(target = '', scopedVars?: ScopedVars, format?: string | Function): string {
    const scene = scopedVars?.__sceneObject?.value.valueOf() ?? activeScene();
    // A format function is typed by Grafana as Function here and precisely in scenes.
    return scene ? sceneGraph.interpolate(scene, target, scopedVars, format as string) : target;
  }

  containsTemplate(target?: string): boolean {
    return Boolean(target && variablePattern.test(target));
  }

  updateTimeRange(_: TimeRange) {
    // Scenes know their own time range.
  }
}

/** The scene on the page; scenes note it in a global, which Grafana reads as well. */
function activeScene(): SceneObject | undefined {
  const scene = window.__grafanaSceneContext;
  return scene?.isActive ? scene : undefined;
}

declare global {
  interface Window {
    __grafanaSceneContext?: SceneObject;
  }
}
