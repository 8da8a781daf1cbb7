import { type LinkModel, locationUtil, type PanelData } from '@grafana/data';

import { gpuPath, nodePath } from '../pages/shared/paths';
import { DATA_SOURCE_ID } from '../shared/ids';
import { type Fleet } from './fleet/Fleet';

/**
 * The app's pages of a cell, the nearest first: of the MIG instance, the GPU, and the node. They show the panel's data source
 * and time. A cell that does not say which node it is of has none.
 */
export function pagesOf(fleet: Fleet, cell: number, data: Pick<PanelData, 'request' | 'timeRange'>): LinkModel[] {
  const { cluster, node, gpu_uuid, mig_id } = fleet.texts;
  if (node[cell] === '') {
    return [];
  }
  const place = { cluster: cluster[cell], node: node[cell], gpu: gpu_uuid[cell] };
  const pages: Array<[string, string]> = [['Open node', nodePath(place.cluster, place.node)]];
  if (place.gpu !== '') {
    pages.unshift(['Open GPU', gpuPath(place)]);
    if (mig_id[cell] !== '') {
      pages.unshift(['Open MIG instance', gpuPath({ ...place, mig: mig_id[cell] })]);
    }
  }
  const search = searchOf(data);
  return pages.map(([title, path]) => ({
    title,
    href: locationUtil.assureBaseUrl(`${path}?${search}`),
    target: undefined,
    origin: fleet,
  }));
}

function searchOf({ request, timeRange }: Pick<PanelData, 'request' | 'timeRange'>): URLSearchParams {
  const { from, to } = request?.rangeRaw ?? timeRange.raw;
  const search = new URLSearchParams({ from: String(from.valueOf()), to: String(to.valueOf()) });
  const ours = request?.targets.find(({ datasource }) => datasource?.type === DATA_SOURCE_ID)?.datasource?.uid;
  if (ours) {
    search.set('ds', ours);
  }
  return search;
}

/** Follows a link as if it had been clicked: Grafana then stays in its page where it can. */
export function follow(link: LinkModel): void {
  const anchor = document.createElement('a');
  anchor.href = link.href;
  anchor.target = link.target ?? '_self';
  anchor.rel = 'noopener noreferrer';
  anchor.hidden = true;
  document.body.append(anchor);
  if (link.onClick) {
    link.onClick(new MouseEvent('click'), link.origin);
  } else {
    anchor.click();
  }
  anchor.remove();
}
