import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { type SceneComponentProps, type SceneObject, SceneObjectBase, type SceneObjectState } from '@grafana/scenes';
import { useStyles2 } from '@grafana/ui';

interface ControlsState extends SceneObjectState {
  left: SceneObject[];
  right: SceneObject[];
}

/** The row above a dashboard: variables, which may wrap, and time and refresh, which stay at the right. */
export class Controls extends SceneObjectBase<ControlsState> {
  static Component = ControlsRow;
}

function ControlsRow({ model }: SceneComponentProps<Controls>) {
  const { left, right } = model.useState();
  const styles = useStyles2(getStyles);
  const render = (objects: SceneObject[]) =>
    objects.map((object) => <object.Component key={object.state.key} model={object} />);
  return (
    <div className={styles.row}>
      <div className={styles.left}>{render(left)}</div>
      <div className={styles.right}>{render(right)}</div>
    </div>
  );
}

const getStyles = (theme: GrafanaTheme2) => ({
  row: css({ display: 'flex', alignItems: 'flex-start', gap: theme.spacing(2), width: '100%' }),
  left: css({ display: 'flex', flexWrap: 'wrap', gap: theme.spacing(1, 2), flexGrow: 1 }),
  right: css({ display: 'flex', gap: theme.spacing(1), flexShrink: 0 }),
});
