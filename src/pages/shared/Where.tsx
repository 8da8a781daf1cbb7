import { TextLink } from '@grafana/ui';
import React from 'react';
import { useSearchParams } from 'react-router-dom';

import { gpuPath, keeping, nodePath } from './paths';
import { type Row, textOf } from './rows';

/** The place of a row as links to its pages: cluster, node, GPU and MIG instance, as far as it has them. */
export function Where({ row }: { row: Row }) {
  const [search] = useSearchParams();
  const [cluster, node, gpu, mig] = ['cluster', 'node', 'gpu', 'mig_id'].map((column) => textOf(row, column));
  const uuid = textOf(row, 'gpu_uuid') || gpu;
  return (
    <span>
      {cluster && `${cluster} · `}
      {node && (
        <TextLink href={keeping(nodePath(cluster, node), search)} inline>
          {node}
        </TextLink>
      )}
      {uuid && (
        <>
          {' · '}
          <TextLink href={keeping(gpuPath({ cluster, node, gpu: uuid, mig }), search)} inline>
            {placeOn({ gpu: gpu || uuid, mig, profile: textOf(row, 'mig_profile') })}
          </TextLink>
        </>
      )}
    </span>
  );
}

/** The device of a row on a page that has its node's name already. */
export function Device({ row }: { row: Row }) {
  const [search] = useSearchParams();
  const [cluster, node, gpu, mig] = ['cluster', 'node', 'gpu', 'mig_id'].map((column) => textOf(row, column));
  const uuid = textOf(row, 'gpu_uuid') || gpu;
  if (uuid === '') {
    return <>the node</>;
  }
  return (
    <TextLink href={keeping(gpuPath({ cluster, node, gpu: uuid, mig }), search)} inline>
      {placeOn({ gpu: gpu || uuid, mig, profile: textOf(row, 'mig_profile') })}
    </TextLink>
  );
}

/** A device on its node, as people call it: GPU 3, or GPU 3 MIG 1g.10gb #7. */
export function placeOn({ gpu, mig, profile }: { gpu: string; mig: string; profile: string }): string {
  return mig ? `GPU ${gpu} MIG ${profile} #${mig}` : `GPU ${gpu}`;
}
