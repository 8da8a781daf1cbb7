import { AppPlugin } from '@grafana/data';
import { Alert, LoadingPlaceholder } from '@grafana/ui';
import { useParams } from 'react-router-dom';
import { useAsync } from 'react-use';

import { messageOf } from '../dashboard/DashboardPage';
import { importPlugin } from '../services/pluginLoader';
import { metaOf, moduleOf } from './meta';

/** The pages of an app, by the module that was built of it. */
export function AppPage() {
  const { id = '' } = useParams();
  const { value, error } = useAsync(async () => {
    const { plugin } = await importPlugin(moduleOf(id));
    if (!(plugin instanceof AppPlugin) || !plugin.root) {
      throw new Error(`${moduleOf(id)} exports no AppPlugin with pages.`);
    }
    return { Root: plugin.root, meta: await metaOf(id) };
  }, [id]);
  if (error) {
    return <Alert title={`The app ${id} could not be shown`}>{messageOf(error)}</Alert>;
  }
  if (!value) {
    return <LoadingPlaceholder text="Loading the app…" />;
  }
  const { Root, meta } = value;
  return <Root basename={`/a/${id}`} meta={meta} query={{}} path={`/a/${id}`} onNavChanged={() => undefined} />;
}
