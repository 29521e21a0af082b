/** Names that `sluice` has in another entry, as docs/from-adk.md says. */
export const elsewhere: Readonly<Record<string, string>> = {
  'sluice/files': 'FileArtifactService',
  'sluice/gemini': 'Gemini',
  'sluice/mcp': 'MCPToolset',
  'sluice/plugins': 'GlobalInstructionPlugin LoggingPlugin',
};

/** Names that Sluice does not have, by what they belong to. */
export const leftOut: Readonly<Record<string, string>> = {
  'the Workflow graph': `BaseNode BranchPath DEFAULT_ROUTE Edge FunctionNode Graph JoinNode NodeContext NodeReportedError NodeSchemaValidationError
    NodeStatus NodeTimeoutError NodeTool ParallelWorker RequestInput START ToolNode Workflow WorkflowNode asRunnableRoot commonPrefixOf
    createNodeErrorEvent createNodeState createSubBranch isNodeErrorEvent isNodeReportedError isNodeSchemaValidationError isNodeState
    isNodeTimeoutError isRequestInput isRunnableRoot isWorkflow node normalizeRetryExceptions prepareRetryConfig FINISH_TASK_SUCCESS_RESULT
    FINISH_TASK_TOOL_NAME FinishTaskTool Task createResumabilityConfig`,
  A2A: `A2AAgentExecutor AGENT_CARD_PATH AGENT_REGISTRY_BASE_URL AgentRegistry AgentRegistrySingleMCPToolset GCP_MCP_SERVER_DESTINATION_ID
    ProtocolType RemoteA2AAgent bearerTokenUserBuilder cleanName getA2AAgentCard isGoogleApi toA2a`,
  OpenAPI: 'OpenAPIToolset OpenApiSpecParser OperationParser RestApiTool ToolAuthHandler createRestApiTool',
  skills: `GCPSkillRegistry ListSkillsTool LoadSkillResourceTool LoadSkillTool RunSkillInlineScriptErrorCode RunSkillInlineScriptTool
    RunSkillScriptTool SearchSkillsTool SkillToolset loadAllSkillsInDir loadSkillFromDir loadSkillFromZipBuffer validateSkillDir`,
  'code executors': `AgentEngineSandboxCodeExecutor BaseCodeExecutor BaseEnvironment CodeExecutionLanguage FileContentEncoding LocalEnvironment
    UnsafeLocalCodeExecutor`,
  'the exchange of credentials': `AUTH_PREPROCESSOR AuthCredentialTypes AuthHandler AuthPreprocessor AuthProviderRegistry CredentialExchangeError
    CredentialRefresherRegistry InMemoryCredentialService OAuth2CredentialExchanger OAuth2DiscoveryManager OAuthGrantType
    SessionStateCredentialService`,
  'services of Google Cloud': `ApigeeLlm ENTERPRISE_WEB_SEARCH EnterpriseWebSearchTool GOOGLE_MAPS_GROUNDING GcsArtifactService
    GoogleMapsGroundingTool VertexAiMemoryBankService VertexAiSearchTool VertexAiSessionService VertexRagRetrievalTool getGcpExporters
    getGcpResource maybeSetOtelProviders getClientLabels runWithClientLabel`,
  'stores behind a URL': 'DatabaseSessionService getArtifactServiceFromUri getSessionServiceFromUri',
  'compaction of the context': `AgentControlledContextCompactor AnchoredContextCompactor ConsolidateContextTool ContextCompactionTrigger
    ContextCompactorRequestProcessor LlmSummarizer TokenBasedContextCompactor TrajectoryThoughtPruningCompactor TruncatingContextCompactor
    isCompactedEvent isScratchpadEvent`,
  'the stages of a request': `AgentTransferLlmRequestProcessor BaseLlmRequestProcessor BaseLlmResponseProcessor CONTENT_REQUEST_PROCESSOR
    ContentRequestProcessor INTERACTIONS_REQUEST_PROCESSOR InteractionsRequestProcessor`,
  routing: 'RoutedAgent RoutedLlm isRoutedAgent',
  'policies and confirmation by a plugin': `InMemoryPolicyEngine IntentMismatchError PolicyOutcome SecurityPlugin
    getAskUserConfirmationFunctionCalls isIntentMismatchError`,
  'classes that are types here': 'ReadonlyContext ToolConfirmation',
  'a container for the root agent': 'App isApp validateAppName',
  'views of an Event': 'EventType hasThoughts hasTrailingCodeExecutionResult pruneThoughts toStructuredEvents',
  'tools for examples and pages': 'BaseExampleProvider ExampleTool LOAD_WEB_PAGE isBaseExampleProvider loadWebPage',
  'parts of the MCP toolset': 'LoadMcpResourceTool MCPSessionManager MCPTool',
  'what a runtime has inside': `ActiveStreamingTool AsyncQueue FeatureName FeatureStage GoogleLLMVariant LogLevel PluginManager
    StateSchemaError createSession determineAgentForResumption findEventByFunctionCallId findEventByLastFunctionResponseId
    findMatchingFunctionCall functionsExportedForTestingOnly geminiInitParams generateClientFunctionCallId getFeatureConfig getLogger
    isFeatureEnabled isGemini2OrAbove isGemini3xFlashLive isRoutableLlmAgent isStateSchemaError mergeStates overrideFeatureEnabled
    populateClientFunctionCallId registerFeature requireAgent setLogLevel setLogger trimTempDeltaState trimTempState version
    withTemporaryFeatureOverride zodObjectToSchema`,
};

export const words = (text: string): string[] => text.split(/\s+/);
