// Builds the preview's page into .cache/preview: `npx webpack -c preview/page/webpack.config.js`.
// The page bundles Grafana's own libraries, which Grafana otherwise provides to plugins.
const path = require('path');

const CopyWebpackPlugin = require('copy-webpack-plugin');
const { DefinePlugin } = require('webpack');

const root = path.resolve(__dirname, '..', '..');
const output = path.join(root, '.cache', 'preview');
const modules = (...parts) => path.join(root, 'node_modules', ...parts);

/** Files that Grafana serves below /public and its components ask for by name. */
const publicFiles = [
  { from: path.join(__dirname, 'index.html'), to: 'index.html' },
  { from: modules('@grafana/ui/dist/public/img'), to: 'build/img' },
  { from: path.join(__dirname, 'icons'), to: 'build/img/icons' }, // those that @grafana/ui uses and does not ship
  { from: modules('@fontsource/inter/files/inter-latin-400-normal.woff2'), to: 'fonts/inter/Inter-Regular.woff2' },
  { from: modules('@fontsource/inter/files/inter-latin-500-normal.woff2'), to: 'fonts/inter/Inter-Medium.woff2' },
  { from: modules('@fontsource/inter/files/inter-latin-400-italic.woff2'), to: 'fonts/inter/Inter-Italic.woff2' },
  {
    from: modules('@fontsource/roboto-mono/files/roboto-mono-latin-400-normal.woff2'),
    to: 'fonts/roboto/L0xTDF4xlVMF-BfR8bXMIhJHg45mwgGEFl0_3vrtSM1J-gEPT5Ese6hmHSh0mQ.woff2',
  },
];

module.exports = (env) => ({
  mode: env.development ? 'development' : 'production',
  devtool: env.development ? 'eval-source-map' : false,
  cache: {
    type: 'filesystem',
    cacheDirectory: path.join(root, '.cache', 'webpack-preview'),
    buildDependencies: { config: [__filename] },
  },
  context: __dirname,
  entry: { preview: './src/index.ts' },
  output: {
    path: output,
    filename: 'build/[name].js',
    chunkFilename: 'build/[name].[contenthash].js',
    publicPath: '/public/',
    clean: true,
  },
  resolve: { extensions: ['.tsx', '.ts', '.mjs', '.js'], alias: { 'react-inlinesvg': modules('react-inlinesvg') } },
  module: {
    rules: [
      {
        test: /\.tsx?$/,
        exclude: /node_modules/,
        use: {
          loader: 'swc-loader',
          options: {
            jsc: {
              target: 'es2022',
              parser: { syntax: 'typescript', tsx: true },
              transform: { react: { runtime: 'automatic' } },
            },
          },
        },
      },
      { test: /\.m?js$/, include: /node_modules/, resolve: { fullySpecified: false } },
      { test: /\.css$/, use: ['style-loader', 'css-loader'] },
      { test: /\.(png|jpe?g|gif|svg|woff2?)$/, type: 'asset/resource' },
    ],
  },
  plugins: [new CopyWebpackPlugin({ patterns: publicFiles }), new DefinePlugin({ 'process.env': '({})' })],
  performance: { hints: false },
  stats: 'errors-warnings',
});
