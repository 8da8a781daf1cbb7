import CopyWebpackPlugin from 'copy-webpack-plugin';
import { type Configuration } from 'webpack';
import { merge } from 'webpack-merge';

import grafanaConfig, { type Env } from './.config/webpack/webpack.config';

/**
 * The scaffold copies the images of the root plugin only, and knows nothing of dashboards outside src. This adds the
 * nested plugins' images and the bundled dashboards, which the root plugin.json names as dashboards/<file>.json.
 */
const config = async (env: Env): Promise<Configuration> =>
  merge(await grafanaConfig(env), {
    plugins: [
      new CopyWebpackPlugin({
        patterns: [
          { from: 'datasource/img/**/*' },
          { from: 'panel/img/**/*' },
          { from: '../dashboards/*.json', to: 'dashboards/[name][ext]', noErrorOnMissing: true },
        ],
      }),
    ],
  });

export default config;
